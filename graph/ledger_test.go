package graph_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheLedgerOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.observeQuake(t, 1)[0]
	payout := d.OnlyClaim(policy).Payouts[0]
	const query = `query($id: ID) { ledger(policyId: $id) { account partner debits { amount } credits { amount } balance { amount currency } entries }
		statement(policyId: $id) { from to opening { account } closing { account balance { amount } } csv
			entries(first: 4) { totalCount nodes { at eventId eventType account amount { amount } partner policyId claimId payoutId } pageInfo { hasNextPage endCursor } } } }`
	data := d.queryDataAs(t, "acme", query, map[string]any{"id": policy.ID})
	balances := map[string]float64{}
	var sum float64
	for _, each := range data["ledger"].([]any) {
		balance := each.(map[string]any)
		amount := balance["balance"].(map[string]any)["amount"].(float64)
		balances[balance["account"].(string)] = amount
		sum += amount
	}
	require.Zero(t, sum)
	require.EqualValues(t, policy.Premium.Amount, balances["PREMIUM_RECEIVABLE"])
	require.EqualValues(t, payout.Amount.Amount, balances["CLAIMS_INCURRED"])
	statement := data["statement"].(map[string]any)
	require.Empty(t, statement["opening"])
	require.Len(t, statement["closing"], len(balances))
	entries := statement["entries"].(map[string]any)
	first := entries["nodes"].([]any)[0].(map[string]any)
	require.Equal(t, "POLICY_ACTIVATED", first["eventType"])
	require.Equal(t, policy.ID, first["policyId"])
	require.Nil(t, first["claimId"])
	require.Len(t, strings.Split(strings.TrimSpace(statement["csv"].(string)), "\r\n"), 1+int(entries["totalCount"].(float64))+len(balances))
	const rest = `query($id: ID, $after: String) { statement(policyId: $id) { entries(first: 4, after: $after) { totalCount nodes { at } } } }`
	d.AdvanceClock(time.Hour)
	next := d.queryDataAs(t, "acme", rest, map[string]any{"id": policy.ID, "after": entries["pageInfo"].(map[string]any)["endCursor"]})["statement"].(map[string]any)["entries"].(map[string]any)
	require.Len(t, next["nodes"], int(entries["totalCount"].(float64))-4)
	seen := d.queryDataAs(t, "globex", query, map[string]any{"id": policy.ID})
	require.Empty(t, seen["ledger"])
	require.Empty(t, seen["statement"].(map[string]any)["closing"])
	got := d.send(t, graphqlRequest{as: "globex", document: `{ ledger(partner: "acme") { account } }`})
	require.Equal(t, "partner_mismatch", got.errorCode())
	whole := d.queryDataAs(t, "operator", `{ ledger(byPartner: true) { partner account } }`, nil)["ledger"].([]any)
	require.Equal(t, "acme", whole[0].(map[string]any)["partner"])
}

func TestInvariantsAndStopsOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const list = `{ invariants { name description violationCount violations { subject message } checkedAt lastFullCheckAt milliseconds } releaseStops { stoppedBy reason resumedAt resumedBy resumeReason acknowledged } }`
	before := d.queryDataAs(t, "operator", list, nil)
	require.NotEmpty(t, before["invariants"])
	require.Nil(t, before["invariants"].([]any)[0].(map[string]any)["checkedAt"])
	const stop = `mutation($key: String) { stopReleases(input: {reason: "The bank called.", clientMutationId: $key}) { clientMutationId releaseStop { stoppedBy reason resumedAt acknowledged } } }`
	stopped := d.queryDataAs(t, "operator", stop, map[string]any{"key": "s1"})["stopReleases"].(map[string]any)
	require.Equal(t, map[string]any{"stoppedBy": d.Operator.Name, "reason": "The bank called.", "resumedAt": nil, "acknowledged": false}, stopped["releaseStop"])
	require.Equal(t, stopped, d.queryDataAs(t, "operator", stop, map[string]any{"key": "s1"})["stopReleases"], "sent again")
	require.Equal(t, "state_conflict", d.send(t, graphqlRequest{as: "operator", document: stop}).errorCode())
	const resume = `mutation { resumeReleases(input: {reason: "All is well.", clientMutationId: "r1"}) { releaseStop { resumedBy resumeReason } resumption { id state done total startedBy reason acknowledge finishedAt refusal } } }`
	resumed := d.queryDataAs(t, "operator", resume, nil)["resumeReleases"].(map[string]any)
	require.Equal(t, map[string]any{"resumedBy": d.Operator.Name, "resumeReason": "All is well."}, resumed["releaseStop"])
	require.Equal(t, resumed, d.queryDataAs(t, "operator", resume, nil)["resumeReleases"], "sent again")
	run := resumed["resumption"].(map[string]any)
	require.Equal(t, "RESUMING", run["state"])
	d.Sweep()
	const follow = `query($id: ID!) { releaseResumption(id: $id) { id state done total finishedAt } releaseResumptions { id state } }`
	followed := d.queryDataAs(t, "operator", follow, map[string]any{"id": run["id"]})
	require.Equal(t, "COMPLETED", followed["releaseResumption"].(map[string]any)["state"])
	require.Equal(t, []any{map[string]any{"id": run["id"], "state": "COMPLETED"}}, followed["releaseResumptions"])
	require.Equal(t, "not_found", d.send(t, graphqlRequest{as: "operator", document: follow, variables: map[string]any{"id": "rrs_0"}}).errorCode())
	require.Equal(t, "insufficient_scope", d.send(t, graphqlRequest{as: "acme", document: follow, variables: map[string]any{"id": run["id"]}}).errorCode())
	after := d.queryDataAs(t, "operator", list, nil)
	require.NotNil(t, after["invariants"].([]any)[0].(map[string]any)["checkedAt"], "they were checked before payouts went on")
	require.Len(t, after["releaseStops"], 1)
}
