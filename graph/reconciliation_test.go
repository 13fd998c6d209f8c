package graph_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestReportsOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	payout := d.OnlyClaim(d.observeQuake(t, 1)[0]).Payouts[0]
	line := func(key string, amount int64) map[string]any {
		return map[string]any{"key": key, "amount": map[string]any{"amount": amount, "currency": "USD"}, "status": "SETTLED", "at": d.Now()}
	}
	const reconcile = `mutation($in: ReconcileInput!) { reconcile(input: $in) { reportId again results { result lines } missing } }`
	report := map[string]any{
		"rail": modeltest.RailName, "name": "monday", "lineCount": 2, "sums": []any{map[string]any{"amount": payout.Amount.Amount + 5, "currency": "USD"}},
		"lines": []any{line(d.RailKey(payout.ID, 1), payout.Amount.Amount), line("unknown", 5)}, "until": d.Now().Add(time.Hour),
	}
	done := d.queryDataAs(t, "operator", reconcile, map[string]any{"in": report})["reconcile"].(map[string]any)
	require.Equal(t, []any{map[string]any{"result": "RECONCILED", "lines": 1.0}, map[string]any{"result": "UNKNOWN", "lines": 1.0}}, done["results"])
	again := d.queryDataAs(t, "operator", reconcile, map[string]any{"in": report})["reconcile"].(map[string]any)
	require.Equal(t, true, again["again"])
	require.Equal(t, done["reportId"], again["reportId"])

	const list = `query($all: Boolean!) { findings(closedToo: $all) { id kind rail reportId line payoutId closedBy closedReason key reference amount { amount currency } account status code reportedAt } }`
	findings := d.queryDataAs(t, "operator", list, map[string]any{"all": false})["findings"].([]any)
	require.Len(t, findings, 1)
	finding := findings[0].(map[string]any)
	require.Equal(t, "UNKNOWN", finding["kind"])
	require.EqualValues(t, 2, finding["line"])
	require.Equal(t, "unknown", finding["key"])
	require.Equal(t, map[string]any{"amount": 5.0, "currency": "USD"}, finding["amount"])
	require.Equal(t, "SETTLED", finding["status"])
	require.NotNil(t, finding["reportedAt"])
	const closes = `mutation($id: ID!, $key: String) { closeFinding(input: {id: $id, reason: "Another program's.", clientMutationId: $key}) { finding { id closedBy closedReason } } }`
	closed := d.queryDataAs(t, "operator", closes, map[string]any{"id": finding["id"], "key": "k1"})
	require.Equal(t, map[string]any{"id": finding["id"], "closedBy": d.Operator.Name, "closedReason": "Another program's."}, closed["closeFinding"].(map[string]any)["finding"])
	require.Equal(t, closed, d.queryDataAs(t, "operator", closes, map[string]any{"id": finding["id"], "key": "k1"}), "sent again")
	require.Equal(t, "state_conflict", d.send(t, graphqlRequest{as: "operator", document: closes, variables: map[string]any{"id": finding["id"]}}).errorCode())
	require.Empty(t, d.queryDataAs(t, "operator", list, map[string]any{"all": false})["findings"])
	require.Len(t, d.queryDataAs(t, "operator", list, map[string]any{"all": true})["findings"], 1)

	report["lineCount"] = 3
	refused := d.send(t, graphqlRequest{as: "operator", document: reconcile, variables: map[string]any{"in": report}})
	require.Equal(t, "/input/lineCount", refused.Errors[0].Extensions.Errors[0].Pointer)
}
