package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/quoting/product"
)

// asked is a claim for an operator's approval of 1,250 USD.
func asked(t *testing.T, d *fixture) string {
	t.Helper()
	policy := d.QuoteAndBind("quake-circle", nil)
	claim, _, err := d.Service.Adjudication.Open(t.Context(), d.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, RequestedAmount: new(money.New(125_000, "USD"))})
	require.NoError(t, err)
	return claim.ID
}

const decideClaim = `mutation($in: DecideClaimInput!) { decideClaim(input: $in) { claim {
	id version status amount { amount } decision { outcome reasonCodes nextReviewAt } operatorActions { operation author note } } } }`

func TestOperatorDecidesClaim(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	claim := asked(t, d)
	decide := func(in map[string]any) map[string]any {
		in["claimId"] = claim
		return d.queryDataAs(t, "operator", decideClaim, map[string]any{"in": in})["decideClaim"].(map[string]any)["claim"].(map[string]any)
	}
	deferred := decide(map[string]any{"outcome": "DEFERRED", "reasonCodes": []any{"EVIDENCE_NEEDED"}, "nextReviewAt": d.Now().Add(time.Hour), "note": "Call them.", "version": 1})
	require.Equal(t, "DEFERRED", deferred["status"])
	require.Equal(t, []any{"EVIDENCE_NEEDED"}, deferred["decision"].(map[string]any)["reasonCodes"])
	stale := d.send(t, graphqlRequest{as: "operator", document: decideClaim, variables: map[string]any{"in": map[string]any{"claimId": claim, "outcome": "APPROVED", "version": 1}}})
	require.Equal(t, "version_mismatch", stale.errorCode())
	approved := decide(map[string]any{"outcome": "APPROVED", "amount": map[string]any{"amount": 100_000, "currency": "USD"}, "clientMutationId": "m1"})
	require.Equal(t, "APPROVED", approved["status"])
	require.Equal(t, map[string]any{"amount": 100_000.0}, approved["amount"])
	require.Equal(t, []any{
		map[string]any{"operation": "DECIDE_CLAIM", "author": d.Operator.Name, "note": "Call them."},
		map[string]any{"operation": "DECIDE_CLAIM", "author": d.Operator.Name, "note": nil},
	}, approved["operatorActions"])
	require.Equal(t, approved, decide(map[string]any{"outcome": "APPROVED", "amount": map[string]any{"amount": 100_000, "currency": "USD"}, "clientMutationId": "m1"}))

	again := d.send(t, graphqlRequest{as: "operator", document: decideClaim, variables: map[string]any{"in": map[string]any{"claimId": claim, "outcome": "DECLINED"}}})
	require.Equal(t, "state_conflict", again.errorCode())
	wrong := d.send(t, graphqlRequest{as: "operator", document: decideClaim, variables: map[string]any{"in": map[string]any{"claimId": claim, "outcome": "DEFERRED", "reasonCodes": []any{"GOODWILL"}}}})
	require.Equal(t, []string{"/input/nextReviewAt", "/input/reasonCodes/0"}, places(wrong))
}

// places are the pointers of an error response.
func places(got response) (pointers []string) {
	for _, field := range got.Errors[0].Extensions.Errors {
		pointers = append(pointers, field.Pointer)
	}
	return pointers
}

func TestAPartnerSeesTheDecisionAndNoNote(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	claim := asked(t, d)
	withdrawn := d.queryDataAs(t, "operator", `mutation($id: ID!) { withdrawClaim(input: {claimId: $id, note: "They rang."}) { claim { status } } }`, map[string]any{"id": claim})
	require.Equal(t, "WITHDRAWN", withdrawn["withdrawClaim"].(map[string]any)["claim"].(map[string]any)["status"])
	got := d.send(t, graphqlRequest{document: `query($id: ID!) { claim(id: $id) { status origin operatorActions { note } } }`, variables: map[string]any{"id": claim}})
	require.Equal(t, "insufficient_scope", got.errorCode())
	require.JSONEq(t, `{"claim": {"status": "WITHDRAWN", "origin": "APPROVAL", "operatorActions": null}}`, string(got.Data))
	require.NotContains(t, got.body, "They rang")
	foreign := d.send(t, graphqlRequest{as: "globex", document: `query($id: ID!) { claim(id: $id) { status } }`, variables: map[string]any{"id": claim}})
	require.Equal(t, "not_found", foreign.errorCode())
}

func TestAnOperatorHoldsAPayout(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	claim := asked(t, d)
	_, err := d.Service.Adjudication.Decide(t.Context(), d.Operator, adjudication.DecisionRequest{ClaimID: claim, Outcome: claims.ClaimApproved})
	require.NoError(t, err)
	d.RecordPayoutMethod(modeltest.IBANMethod(claim))
	d.RunAccountChecks()
	payout := d.Claim(claim).Payouts[0]
	status := func(document string) any {
		for _, payload := range d.queryDataAs(t, "operator", document, map[string]any{"id": payout.ID, "v": payout.Version}) {
			return payload.(map[string]any)["payout"]
		}
		return nil
	}
	require.Equal(t, map[string]any{"status": "BLOCKED", "blockedReason": "COMPLIANCE_HOLD", "nextAttemptAt": nil},
		status(`mutation($id: ID!, $v: Long) { blockPayout(input: {payoutId: $id, version: $v, reason: COMPLIANCE_HOLD, note: "A list."}) { payout { status blockedReason nextAttemptAt } } }`))
	stale := d.send(t, graphqlRequest{as: "operator", document: `mutation($id: ID!, $v: Long) { unblockPayout(input: {payoutId: $id, version: $v, note: "n"}) { payout { id } } }`, variables: map[string]any{"id": payout.ID, "v": payout.Version}})
	require.Equal(t, "version_mismatch", stale.errorCode())
	require.Equal(t, map[string]any{"status": "PENDING", "blockedReason": nil},
		status(`mutation($id: ID!) { unblockPayout(input: {payoutId: $id, note: "Another person."}) { payout { status blockedReason } } }`))
	d.RunJobs()
	found := d.queryData(t, `query($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on Payout { status } } }`, map[string]any{"ids": []any{claim, payout.ID}})
	require.Equal(t, []any{
		map[string]any{"__typename": "Claim", "id": claim},
		map[string]any{"__typename": "Payout", "id": payout.ID, "status": "RELEASED"},
	}, found["nodes"])
}

func TestAnOperatorPublishesAProduct(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	source := string(product.Shipped()[1].Source())
	publish := func(document string) response {
		return d.send(t, graphqlRequest{
			as: "operator", document: `mutation($in: PublishProductInput!) { publishProduct(input: $in) { product { key version } } }`,
			variables: map[string]any{"in": map[string]any{"document": document}},
		})
	}
	second := strings.Replace(source, "\nversion: 2\n", "\nversion: 3\n", 1)
	for range 2 {
		got := publish(second)
		require.Empty(t, got.Errors)
		require.JSONEq(t, fmt.Sprintf(`{"publishProduct": {"product": {"key": %q, "version": 3}}}`, product.Shipped()[1].Key()), string(got.Data))
	}
	require.Equal(t, "state_conflict", publish(second+"\n").errorCode())
	broken := publish(strings.Replace(strings.Replace(source, `risk_factor: "0.1"`, "risk_factor: 0.1", 1), "shape: step", "shape: stairs", 1))
	require.Equal(t, []string{"/input/document/payout/shape", "/input/document/price/risk_factor"}, places(broken))
}
