package graph_test

import (
	"math"
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

	const list = `query($all: Boolean!) { reconciliationExceptions(closedToo: $all) { id kind rail reportId line payoutId closedBy closedReason key reference amount { amount currency } account status code reportedAt } }`
	exceptions := d.queryDataAs(t, "operator", list, map[string]any{"all": false})["reconciliationExceptions"].([]any)
	require.Len(t, exceptions, 1)
	exception := exceptions[0].(map[string]any)
	require.Equal(t, "UNKNOWN", exception["kind"])
	require.EqualValues(t, 2, exception["line"])
	require.Equal(t, "unknown", exception["key"])
	require.Equal(t, map[string]any{"amount": 5.0, "currency": "USD"}, exception["amount"])
	require.Equal(t, "SETTLED", exception["status"])
	require.NotNil(t, exception["reportedAt"])
	const closes = `mutation($id: ID!, $key: String) { closeReconciliationException(input: {id: $id, reason: "Another program's.", clientMutationId: $key}) { reconciliationException { id closedBy closedReason } } }`
	closed := d.queryDataAs(t, "operator", closes, map[string]any{"id": exception["id"], "key": "k1"})
	require.Equal(t, map[string]any{"id": exception["id"], "closedBy": d.Operator.Name, "closedReason": "Another program's."}, closed["closeReconciliationException"].(map[string]any)["reconciliationException"])
	require.Equal(t, closed, d.queryDataAs(t, "operator", closes, map[string]any{"id": exception["id"], "key": "k1"}), "sent again")
	require.Equal(t, "state_conflict", d.send(t, graphqlRequest{as: "operator", document: closes, variables: map[string]any{"id": exception["id"]}}).errorCode())
	require.Empty(t, d.queryDataAs(t, "operator", list, map[string]any{"all": false})["reconciliationExceptions"])
	require.Len(t, d.queryDataAs(t, "operator", list, map[string]any{"all": true})["reconciliationExceptions"], 1)

	report["lineCount"] = 3
	refused := d.send(t, graphqlRequest{as: "operator", document: reconcile, variables: map[string]any{"in": report}})
	require.Equal(t, "/input/lineCount", refused.Errors[0].Extensions.Errors[0].Pointer)
}

// Sums that overflow 64 bits never agree with those of the lines.
func TestOverflowingSumsOfAReportAreRefused(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	usd := func(amounts ...int64) (all []any) {
		for _, amount := range amounts {
			all = append(all, map[string]any{"amount": amount, "currency": "USD"})
		}
		return all
	}
	before := d.CountRows()
	for name, c := range map[string]struct{ lines, sums []any }{
		"the lines overflow":     {usd(math.MaxInt64, math.MaxInt64), usd(-2)},
		"the lines return":       {usd(math.MaxInt64, math.MaxInt64, 5), usd(3)},
		"the sums overflow":      {usd(1, 1), usd(math.MaxInt64, math.MaxInt64, 4)},
		"a sum is less than 0":   {usd(1, 1), usd(3, -1)},
		"a sum of another sign":  {usd(0), usd(math.MinInt64, math.MaxInt64, 1)},
		"the sums are different": {usd(1, 1), usd(3)},
	} {
		var lines []any
		for _, amount := range c.lines {
			lines = append(lines, map[string]any{"reference": "r", "amount": amount, "status": "SETTLED", "at": d.Now()})
		}
		in := map[string]any{"rail": modeltest.RailName, "name": name, "lineCount": len(lines), "sums": c.sums, "lines": lines}
		out := d.send(t, graphqlRequest{as: "operator", document: `mutation($in: ReconcileInput!) { reconcile(input: $in) { reportId } }`, variables: map[string]any{"in": in}})
		require.Equal(t, "validation_failed", out.errorCode(), name)
		require.Equal(t, "/input/sums", out.Errors[0].Extensions.Errors[0].Pointer, name)
	}
	require.Equal(t, before, d.CountRows())
}
