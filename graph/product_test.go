package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestProductFieldsAreReadable(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const document = `query($key: String!) { product(key: $key) { key version title place trigger { kind unit direction } payout { shape } measurement { sources { source stage } rule { kind m tolerance { value } } wait fallback longStop challengeWindow }
		payoutCurves { radiusShare points { index before reached } } times { quoteValidity longestTerm }
		price { riskFactor maximumRateOnLine } currencies { code minimumLimit { amount currency } automaticUpTo { amount } }
		contextSchema examples { name context earthquake { magnitude depthKm } storm { hour windKn } daily met reason index factor amount { amount currency } } } }`
	quake := d.queryData(t, document, map[string]any{"key": "quake-circle"})["product"]
	require.EqualValues(t, 3, dig(t, quake, "version"))
	require.Equal(t, map[string]any{
		"sources": []any{map[string]any{"source": "usgs", "stage": "FINAL"}}, "rule": map[string]any{"kind": "FIRST_OF", "m": 0.0, "tolerance": nil},
		"wait": "P14D", "fallback": "NEXT_RANK", "longStop": "P3Y", "challengeWindow": "P30D",
	}, dig(t, quake, "measurement"))
	require.Equal(t, map[string]any{"index": "6.5", "before": "0.2", "reached": "0.5"}, dig(t, quake, "payoutCurves", 0, "points", 1))
	require.Nil(t, dig(t, quake, "payoutCurves", 0, "radiusShare"))
	require.Equal(t, map[string]any{"quoteValidity": "PT24H", "longestTerm": "P366D"}, dig(t, quake, "times"))
	require.Equal(t, "0.35", dig(t, quake, "price", "maximumRateOnLine"))
	require.Equal(t, map[string]any{
		"code": "USD", "minimumLimit": map[string]any{"amount": 100_000.0, "currency": "USD"}, "automaticUpTo": map[string]any{"amount": 10_000_000.0},
	}, dig(t, quake, "currencies", 0))
	require.Equal(t, "object", dig(t, quake, "contextSchema", "type"))
	first := dig(t, quake, "examples", 0)
	require.Equal(t, map[string]any{"magnitude": "5.9", "depthKm": "10"}, dig(t, first, "earthquake"))
	require.Equal(t, "THRESHOLD_NOT_MET", dig(t, first, "reason"))
	require.Nil(t, dig(t, first, "context"))
	require.Nil(t, dig(t, first, "storm"))
	require.Equal(t, map[string]any{"amount": 49_950.0, "currency": "JPY"}, dig(t, quake, "examples", 12, "amount"))

	storm := d.queryData(t, document, map[string]any{"key": "cyclone-circle"})["product"]
	require.Equal(t, "0.5", dig(t, storm, "payoutCurves", 0, "radiusShare"))
	require.NotEmpty(t, dig(t, storm, "examples", 0, "storm"))
	rain := d.queryData(t, document, map[string]any{"key": "rain-excess"})["product"]
	require.Equal(t, map[string]any{"index": "240", "before": "1", "reached": "1"}, dig(t, rain, "payoutCurves", 0, "points", 1))
	require.NotEmpty(t, dig(t, rain, "examples", 0, "daily"))
}

func TestQuotesAndPoliciesReturnTheirProduct(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.QuoteAndBind("quake-circle", modeltest.Context{"steps": []map[string]string{{"threshold": "8.0", "factor": "0.4"}}})
	got := d.queryData(t, `{ policies { nodes { productKey product { key version title } cover { payoutCurves { points { index reached } } } quote { product { key } } } } }`, nil)
	policy := dig(t, got, "policies", "nodes", 0)
	require.Equal(t, map[string]any{"key": "quake-circle", "version": 3.0, "title": "Earthquake in a circle"}, dig(t, policy, "product"))
	require.Equal(t, "quake-circle", dig(t, policy, "quote", "product", "key"))
	require.Equal(t, []any{map[string]any{"index": "8.0", "reached": "0.4"}}, dig(t, policy, "cover", "payoutCurves", 0, "points"))
}
