package graph_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/modeltest"
)

var epicentre = hazard.Point{Latitude: 24.174, Longitude: 121.653}

// dig returns the value at a path of keys and indexes.
func dig(t *testing.T, value any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			members, ok := value.(map[string]any)
			require.True(t, ok, "%v at %v", value, step)
			require.Contains(t, members, step)
			value = members[step]
		case int:
			list, ok := value.([]any)
			require.True(t, ok, "%v at %v", value, step)
			require.Greater(t, len(list), step)
			value = list[step]
		}
	}
	return value
}

func TestThePortfolioOfADashboard(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.QuoteAndBind("quake-circle", nil)
	d.ActingAs(d.Globex).QuoteAndBind("rain-excess", nil)
	d.Observe(modeltest.Quake("us1", d.Now(), epicentre, "6.6"))
	d.RunJobs()
	const document = `query($partner: String) { portfolio(partner: $partner) { asOf from to
		total: book { more lines { currency product partner cell { name } policiesInForce limitAtRisk { amount } reserved { amount } lossRatio } }
		book(by: [PRODUCT, PARTNER, CELL]) { lines { product partner cell { name latitude longitude station } policiesBound premiumWritten { amount currency } paid { amount } premiumInForce { amount } } }
		claimsByStatus { status count amount { amount currency } } payoutsByStatus { status count amount { amount } }
		series(interval: WEEK) { currency points { from to policiesBound premiumWritten { amount } claimsOpened claimsApproved { amount } payoutsReleased { amount } lossRatio } }
		doubt { status olderThan under count amount { amount } } } }`
	all := d.queryDataAs(t, "operator", document, nil)
	require.EqualValues(t, 2, dig(t, all, "portfolio", "total", "lines", 0, "policiesInForce"))
	require.Len(t, dig(t, all, "portfolio", "book", "lines"), 2)
	require.EqualValues(t, 5_000_000, dig(t, all, "portfolio", "total", "lines", 0, "reserved", "amount"))

	own := d.queryData(t, document, nil)
	require.Equal(t, "N23E121", dig(t, own, "portfolio", "book", "lines", 0, "cell", "name"))
	require.Equal(t, "acme", dig(t, own, "portfolio", "book", "lines", 0, "partner"))
	require.Len(t, dig(t, own, "portfolio", "book", "lines"), 1)
	require.Equal(t, map[string]any{"status": "APPROVED", "count": float64(1), "amount": map[string]any{"amount": float64(5_000_000), "currency": "USD"}},
		dig(t, own, "portfolio", "claimsByStatus", 0))
	require.Equal(t, map[string]any{"status": "BLOCKED", "olderThan": "PT0S", "under": "PT1H", "count": float64(1), "amount": map[string]any{"amount": float64(5_000_000)}},
		dig(t, own, "portfolio", "doubt", 0))
	require.Equal(t, "USD", dig(t, own, "portfolio", "series", 0, "currency"))

	refused := d.send(t, graphqlRequest{document: document, variables: map[string]any{"partner": "globex"}})
	require.Equal(t, "partner_mismatch", refused.errorCode())
	refused = d.send(t, graphqlRequest{document: `{ portfolio(from: "2000-01-01T00:00:00Z") { asOf } }`})
	require.Equal(t, "parameter_invalid", refused.errorCode())
	refused = d.send(t, graphqlRequest{document: `{ portfolio(to: "0001-01-01T00:00:00Z") { series(interval: DAY) { currency } } }`})
	require.Equal(t, "parameter_invalid", refused.errorCode())
	many := strings.Builder{}
	for i := range 50 {
		fmt.Fprintf(&many, "a%d: doubt { count } ", i)
	}
	refused = d.send(t, graphqlRequest{document: "{ portfolio { " + many.String() + "} }"})
	require.Equal(t, "query_too_costly", refused.errorCode())
	refused = d.send(t, graphqlRequest{as: "unscoped", document: `{ portfolio { asOf } }`})
	require.Equal(t, "insufficient_scope", refused.errorCode())
}

func TestExposureOfMagnitude7(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	first := d.QuoteAndBind("quake-circle", nil)
	second := d.QuoteAndBind("quake-circle", nil)
	d.ActingAs(d.Globex).QuoteAndBind("quake-circle", nil)
	const document = `query($first: Int! = 1, $after: String) { exposure(occurrence: {earthquake: {location: {latitude: 24.174, longitude: 121.653}, magnitude: "7.0", depthKm: "10"}}) {
		occurredAt totals { currency touched nearMisses paying owed { amount } payable { amount } } bands { from to claims owed { amount } payable { amount } }
		policies(first: $first, after: $after, nearMisses: true) { totalCount pageInfo { hasNextPage endCursor } edges { cursor } nodes {
			policyId policy { id status } met pays index { value } threshold { value } factor amount { amount } payable { amount } distanceKm radiusKm stage reasons sentences claim { id } } } } }`
	got := d.queryData(t, document, nil)
	require.EqualValues(t, 2, dig(t, got, "exposure", "totals", 0, "paying"))
	require.EqualValues(t, 20_000_000, dig(t, got, "exposure", "totals", 0, "payable", "amount"))
	require.Equal(t, "0.75", dig(t, got, "exposure", "bands", 0, "from"))
	require.Equal(t, true, dig(t, got, "exposure", "policies", "pageInfo", "hasNextPage"))
	next := d.queryData(t, document, map[string]any{"after": dig(t, got, "exposure", "policies", "pageInfo", "endCursor")})
	require.ElementsMatch(t, []any{first.ID, second.ID}, []any{
		dig(t, got, "exposure", "policies", "nodes", 0, "policy", "id"), dig(t, next, "exposure", "policies", "nodes", 0, "policyId"),
	})
	require.EqualValues(t, 2, dig(t, next, "exposure", "policies", "totalCount"))
	require.Equal(t, []any{"THRESHOLD_MET"}, dig(t, next, "exposure", "policies", "nodes", 0, "reasons"))
	all := d.queryDataAs(t, "operator", document, map[string]any{"first": 25})
	require.EqualValues(t, 3, dig(t, all, "exposure", "totals", 0, "paying"))

	for _, wrong := range []string{`{}`, `{storm: {fixes: []}}`, `{rain: {station: "Seattle", days: [{day: "2024-01-01T00:00:00Z", precipitationMm: "-1"}]}}`} {
		refused := d.send(t, graphqlRequest{document: `{ exposure(occurrence: ` + wrong + `) { occurredAt } }`})
		require.Equal(t, "validation_failed", refused.errorCode(), wrong)
	}
	refused := d.send(t, graphqlRequest{document: document, variables: map[string]any{"first": 0}})
	require.Equal(t, "parameter_invalid", refused.errorCode())
	refused = d.send(t, graphqlRequest{document: document, variables: map[string]any{"after": "x"}})
	require.Equal(t, "cursor_invalid", refused.errorCode())
}

func TestOccurrencesReturnAffectedPolicies(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.QuoteAndBind("quake-circle", nil)
	weak := d.QuoteAndBind("quake-circle", modeltest.Context{"steps": []map[string]string{{"threshold": "8.0", "factor": "1"}}})
	d.ActingAs(d.Globex).QuoteAndBind("quake-circle", nil)
	d.Observe(modeltest.Quake("us1", d.Now(), epicentre, "6.6"))
	d.RunJobs()
	claim := d.OnlyClaim(policy)
	const document = `query($filter: OccurrenceFilter) { occurrences(filter: $filter, order: OLDEST_FIRST) { totalCount pageInfo { hasNextPage } edges { cursor node { id } } nodes { id source sourceEventId kind stage sandbox mergedInto
		policies { totalCount totalCountExceeded nodes { policyId policy { id } met missedBy { value unit } claim { id status } } }
		observations { totalCount nodes { id kind stage location { latitude } station measures { name value unit } aliases occurrenceId } } } } }`
	got := d.queryData(t, document, map[string]any{"filter": map[string]any{"kind": "EARTHQUAKE", "from": d.Now().Add(-time.Hour).Format(time.RFC3339)}})
	require.Equal(t, claim.Occurrence.ID, dig(t, got, "occurrences", "nodes", 0, "id"))
	require.EqualValues(t, 1, dig(t, got, "occurrences", "totalCount"))
	require.EqualValues(t, 2, dig(t, got, "occurrences", "nodes", 0, "policies", "totalCount"))
	require.Equal(t, false, dig(t, got, "occurrences", "nodes", 0, "policies", "totalCountExceeded"))
	require.EqualValues(t, 1, dig(t, got, "occurrences", "nodes", 0, "observations", "totalCount"))
	require.Equal(t, weak.ID, dig(t, got, "occurrences", "nodes", 0, "policies", "nodes", 0, "policy", "id"))
	require.Equal(t, map[string]any{"value": "1.4", "unit": "mw"}, dig(t, got, "occurrences", "nodes", 0, "policies", "nodes", 0, "missedBy"))
	require.Equal(t, map[string]any{"id": claim.ID, "status": "APPROVED"}, dig(t, got, "occurrences", "nodes", 0, "policies", "nodes", 1, "claim"))
	require.Len(t, dig(t, got, "occurrences", "nodes", 0, "policies", "nodes"), 2)
	observation := dig(t, got, "occurrences", "nodes", 0, "observations", "nodes", 0, "id")
	require.Equal(t, map[string]any{"name": "depth", "value": "10", "unit": "km"}, dig(t, got, "occurrences", "nodes", 0, "observations", "nodes", 0, "measures", 0))
	found := d.queryData(t, `query($ids: [ID!]!, $o: ID!) { nodes(ids: $ids) { __typename id } observation(id: $o) { id }  }`,
		map[string]any{"ids": []any{claim.Occurrence.ID, observation}, "o": observation})
	require.Equal(t, "Occurrence", dig(t, found, "nodes", 0, "__typename"))
	require.Equal(t, "Observation", dig(t, found, "nodes", 1, "__typename"))

	explained := `query($policy: ID!, $of: OccurrenceRefInput!) { explain(policyId: $policy, occurrence: $of) { met pays amount { amount } payable { amount } reasons sentences claim { id } policy { id } } }`
	why := d.queryData(t, explained, map[string]any{"policy": policy.ID, "of": map[string]any{"sourceEvent": map[string]any{"source": "usgs", "id": "us1"}}})
	require.Equal(t, claim.ID, dig(t, why, "explain", "claim", "id"))
	require.Equal(t, policy.ID, dig(t, why, "explain", "policy", "id"))
	why = d.queryData(t, explained, map[string]any{"policy": weak.ID, "of": map[string]any{"id": claim.Occurrence.ID}})
	require.Equal(t, []any{"THRESHOLD_NOT_MET"}, dig(t, why, "explain", "reasons"))
	refused := d.send(t, graphqlRequest{as: "globex", document: explained, variables: map[string]any{"policy": policy.ID, "of": map[string]any{"id": claim.Occurrence.ID}}})
	require.Equal(t, "not_found", refused.errorCode())
}
