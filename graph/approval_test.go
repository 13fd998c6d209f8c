package graph_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/modeltest"
)

const seenBeforeApproval = `query($id: ID!) { payout(id: $id) { payoutMethodId approval { digest required
	payoutMethod { payoutMethodId type beneficiary { name } display { last4 institution } status verifiedAt coolingOffUntil returnedAt } approvals { author authorIssuer valid } } } }`

// TestApprovalNamesWhatTheOperatorSaw reads a payout before approving it, changes its
// account, and approves the version read first.
func TestApprovalNamesWhatTheOperatorSaw(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.QuoteAndBind("quake-circle", modeltest.Context{"limit": map[string]any{"amount": 100_000_000, "currency": "USD"}})
	d.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	d.RunJobs()
	d.Observe(modeltest.Quake("us1", d.Now(), hazard.Point{Latitude: 24.1737, Longitude: 121.653}, "6.4"))
	d.RunJobs()
	payout := d.OnlyClaim(policy).Payouts[0]
	read := func() map[string]any {
		return d.queryDataAs(t, "operator", seenBeforeApproval, map[string]any{"id": payout.ID})["payout"].(map[string]any)
	}
	approve := func(digest any) response {
		return d.send(t, graphqlRequest{
			as: "operator", document: `mutation($in: ApprovePayoutInput!) { approvePayout(input: $in) { payout { status } } }`,
			variables: map[string]any{"in": map[string]any{"payoutId": payout.ID, "digest": digest}},
		})
	}
	first := read()["approval"].(map[string]any)
	require.InDelta(t, 2, first["required"], 0)
	account := first["payoutMethod"].(map[string]any)
	require.Equal(t, []any{"IBAN", "3000", "VERIFIED", nil}, []any{account["type"], account["display"].(map[string]any)["last4"], account["status"], account["coolingOffUntil"]})
	require.Equal(t, read()["payoutMethodId"], account["payoutMethodId"])

	other := modeltest.PolicyIBANMethod(policy.ID)
	other.Number.IBAN.IBAN = "GB29NWBK60161331926819"
	d.RecordPayoutMethod(other)
	d.RunAccountChecks()
	require.Equal(t, "state_conflict", approve(first["digest"]).errorCode())
	second := read()["approval"].(map[string]any)
	require.Equal(t, "6819", second["payoutMethod"].(map[string]any)["display"].(map[string]any)["last4"])
	require.NotNil(t, second["payoutMethod"].(map[string]any)["coolingOffUntil"])
	require.Empty(t, approve(second["digest"]).Errors)
	given := read()["approval"].(map[string]any)["approvals"].([]any)
	require.Equal(t, []any{map[string]any{"author": "olive", "authorIssuer": modeltest.Issuer, "valid": true}}, given)
	foreign := d.send(t, graphqlRequest{document: seenBeforeApproval, variables: map[string]any{"id": payout.ID}})
	require.Equal(t, "insufficient_scope", foreign.errorCode())
}

func TestOperatorRequestsEvidenceOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	claim := asked(t, d)
	d.queryDataAs(t, "operator", decideClaim, map[string]any{"in": map[string]any{
		"claimId": claim, "outcome": "DEFERRED", "reasonCodes": []any{"EVIDENCE_NEEDED"}, "nextReviewAt": d.Now().Add(time.Hour), "message": "A photograph of the roof.",
	}})
	d.queryDataAs(t, "operator", `mutation($id: ID!) { addMessage(input: {claimId: $id, body: "And of the cellar."}) { message { id } } }`, map[string]any{"id": claim})
	messages := d.queryData(t, `query($id: ID!) { claim(id: $id) { messages { nodes { author { kind name } body } } } }`, map[string]any{"id": claim})["claim"].(map[string]any)["messages"].(map[string]any)["nodes"]
	parapet := map[string]any{"kind": "OPERATOR", "name": "parapet"}
	require.Equal(t, []any{map[string]any{"author": parapet, "body": "A photograph of the roof."}, map[string]any{"author": parapet, "body": "And of the cellar."}}, messages)
	empty := d.send(t, graphqlRequest{as: "operator", document: decideClaim, variables: map[string]any{"in": map[string]any{"claimId": claim, "outcome": "DECLINED", "message": " "}}})
	require.Equal(t, []string{"/input/message"}, places(empty))
	for _, who := range []string{"source", "unscoped"} {
		got := d.send(t, graphqlRequest{as: who, document: `mutation($id: ID!) { addMessage(input: {claimId: $id, body: "Hello."}) { message { id } } }`, variables: map[string]any{"id": claim}})
		require.Equal(t, "insufficient_scope", got.errorCode(), who)
	}
}
