package graph_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

const bind = `mutation($id: ID!) { bindPolicy(input: {quoteId: $id}) { policy { id } } }`

// refusedBind returns the error code of binding a new quote.
func (d *fixture) refusedBind(t *testing.T) string {
	t.Helper()
	got := d.send(t, graphqlRequest{document: bind, variables: map[string]any{"id": d.Quote("quake-circle", nil).ID}})
	require.Len(t, got.Errors, 1, got.body)
	require.NotEmpty(t, got.Errors[0].Message)
	return got.errorCode()
}

func TestCapacityOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.QuoteAndBind("quake-circle", nil)
	const set = `mutation($in: SetCapacityInput!) { setCapacity(input: $in) { clientMutationId capacity { product cell limit { amount currency } atRisk { amount } author } } }`
	bound := func(in map[string]any) any {
		return d.queryDataAs(t, "operator", set, map[string]any{"in": in})["setCapacity"].(map[string]any)["capacity"]
	}
	everywhere := map[string]any{"product": "quake-circle", "currency": "USD", "amount": 0, "clientMutationId": "k1"}
	first := bound(everywhere)
	require.Equal(t, map[string]any{"product": "quake-circle", "cell": nil, "limit": map[string]any{"amount": 0.0, "currency": "USD"}, "atRisk": nil, "author": d.Operator.Name}, first)
	require.Equal(t, first, bound(everywhere), "sent again")
	bound(map[string]any{"product": "quake-circle", "cell": "N23E121", "currency": "USD", "amount": policy.Limit.Amount})
	require.Equal(t, "capacity_exceeded", d.refusedBind(t))

	const list = `query($after: String) { capacities(first: 1, after: $after, filter: {product: "quake-circle"}) { totalCount nodes { cell atRisk { amount } } pageInfo { hasNextPage endCursor } } }`
	page := d.queryDataAs(t, "operator", list, nil)["capacities"].(map[string]any)
	require.EqualValues(t, 2, page["totalCount"])
	after := page["pageInfo"].(map[string]any)["endCursor"]
	page = d.queryDataAs(t, "operator", list, map[string]any{"after": after})["capacities"].(map[string]any)
	require.Equal(t, []any{map[string]any{"cell": "N23E121", "atRisk": map[string]any{"amount": float64(policy.Limit.Amount)}}}, page["nodes"])
	require.Equal(t, false, page["pageInfo"].(map[string]any)["hasNextPage"])

	takenAway := map[string]any{"product": "quake-circle", "cell": "N23E121", "currency": "USD", "clientMutationId": "k2"}
	require.Nil(t, bound(takenAway))
	require.Nil(t, bound(takenAway), "sent again")
	bound(map[string]any{"product": "quake-circle", "currency": "USD", "amount": 2 * policy.Limit.Amount})
	d.QuoteAndBind("quake-circle", nil)
	require.Equal(t, "capacity_exceeded", d.refusedBind(t))
}

func TestMoratoriaOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const declare = `mutation($in: DeclareMoratoriumInput!) { declareMoratorium(input: $in) { clientMutationId moratorium { id kind place { kind latitude radiusKm station } author reason version } } }`
	in := map[string]any{
		"kind": "EARTHQUAKE", "place": map[string]any{"circle": map[string]any{"latitude": hualien.Latitude, "longitude": hualien.Longitude, "radiusKm": 10}},
		"endsAt": d.Now().Add(time.Hour), "reason": "An eruption is expected.", "clientMutationId": "k1",
	}
	declared := d.queryDataAs(t, "operator", declare, map[string]any{"in": in})["declareMoratorium"]
	require.Equal(t, declared, d.queryDataAs(t, "operator", declare, map[string]any{"in": in})["declareMoratorium"], "sent again")
	moratorium := declared.(map[string]any)["moratorium"].(map[string]any)
	require.Equal(t, map[string]any{"kind": "CIRCLE", "latitude": hualien.Latitude, "radiusKm": 10.0, "station": nil}, moratorium["place"])
	require.Equal(t, d.Operator.Name, moratorium["author"])
	require.Equal(t, "moratorium_active", d.refusedBind(t))

	const seen = `query($id: ID!) { moratorium(id: $id) { reason author } node(id: $id) { id } moratoria { totalCount nodes { id } } past: moratoria(filter: {past: true}) { totalCount } }`
	partners := d.queryData(t, seen, map[string]any{"id": moratorium["id"]})
	require.Equal(t, map[string]any{"reason": "An eruption is expected.", "author": nil}, partners["moratorium"])
	require.Equal(t, map[string]any{"id": moratorium["id"]}, partners["node"])
	require.EqualValues(t, 1, partners["moratoria"].(map[string]any)["totalCount"])

	const lift = `mutation($id: ID!) { liftMoratorium(input: {moratoriumId: $id}) { moratorium { liftedAt version } } }`
	lifted := d.queryDataAs(t, "operator", lift, map[string]any{"id": moratorium["id"]})
	require.Equal(t, lifted, d.queryDataAs(t, "operator", lift, map[string]any{"id": moratorium["id"]}), "it stays as it is")
	d.QuoteAndBind("quake-circle", nil)
	partners = d.queryData(t, seen, map[string]any{"id": moratorium["id"]})
	require.EqualValues(t, 0, partners["moratoria"].(map[string]any)["totalCount"])
	require.EqualValues(t, 1, partners["past"].(map[string]any)["totalCount"])

	for _, place := range []map[string]any{{}, {"station": ""}, {"station": "TSW00046691", "circle": map[string]any{"latitude": 0, "longitude": 0, "radiusKm": 1}}, {"circle": map[string]any{"latitude": 91, "longitude": 0, "radiusKm": 1}}} {
		in["place"], in["clientMutationId"] = place, nil
		refused := d.send(t, graphqlRequest{as: "operator", document: declare, variables: map[string]any{"in": in}})
		require.Equal(t, "/input/place", refused.Errors[0].Extensions.Errors[0].Pointer, place)
	}
}

func TestMoratoriumRulesOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const set = `mutation($rule: MoratoriumRuleInput, $key: String) { setMoratoriumRule(input: {kind: EARTHQUAKE, rule: $rule, clientMutationId: $key}) { rule { kind measure minimum radiusKm lasts } } }`
	rule := map[string]any{"rule": map[string]any{"minimum": "6.0", "radiusKm": 100, "lasts": "P3D"}, "key": "k1"}
	made := d.queryDataAs(t, "operator", set, rule)
	require.Equal(t, map[string]any{"kind": "EARTHQUAKE", "measure": "magnitude", "minimum": "6.0", "radiusKm": 100.0, "lasts": "PT72H"}, made["setMoratoriumRule"].(map[string]any)["rule"])
	d.Observe(modeltest.Quake("fresh", d.Now(), hualien, "6.0"))
	require.Equal(t, "moratorium_active", d.refusedBind(t))
	cause := d.queryData(t, `{ moratoria { nodes { occurrenceId } } occurrences { nodes { id } } }`, nil)
	require.Equal(t, cause["occurrences"].(map[string]any)["nodes"].([]any)[0].(map[string]any)["id"], cause["moratoria"].(map[string]any)["nodes"].([]any)[0].(map[string]any)["occurrenceId"])

	takenAway := d.queryDataAs(t, "operator", set, map[string]any{"key": "k2"})
	require.Nil(t, takenAway["setMoratoriumRule"].(map[string]any)["rule"])
	require.Equal(t, takenAway, d.queryDataAs(t, "operator", set, map[string]any{"key": "k2"}), "sent again")
	require.Equal(t, made, d.queryDataAs(t, "operator", set, rule), "sent again")
	require.Empty(t, d.queryDataAs(t, "operator", `{ moratoriumRules { kind } }`, nil)["moratoriumRules"], "the first answer is no act")
	rule["key"] = "k2"
	require.Equal(t, "idempotency_key_reused", d.send(t, graphqlRequest{as: "operator", document: set, variables: rule}).errorCode())
}
