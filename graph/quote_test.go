package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestViewer(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	require.Equal(t, map[string]any{"kind": "PARTNER", "partner": "acme", "client": "acme-client"},
		d.queryData(t, "{ viewer { kind partner client } }", nil)["viewer"])
	require.Equal(t, map[string]any{"kind": "OPERATOR", "partner": nil, "scopes": []any{"operator"}},
		d.queryDataAs(t, "operator", "{ viewer { kind partner scopes } }", nil)["viewer"])
	refused := d.send(t, graphqlRequest{as: "stranger", document: "{ viewer { kind } }"})
	require.Equal(t, 401, refused.status)
	require.Equal(t, "token_invalid", refused.errorCode())
	require.Equal(t, "req-1", refused.Errors[0].Extensions.RequestID)
}

func TestQuoteAndBind(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	quoted := d.queryData(t, `mutation($in: CreateQuoteInput!) { createQuote(input: $in) { clientMutationId quote { id status partner
			cover { limit { amount currency } place { kind latitude station } trigger { wind days } payout { shape } }
			price { premium { amount } lines { kind amount { amount } } rateOnLine } basis { years } history { occurredAt index { value unit } }
			metadata createdAt context } } }`,
		map[string]any{"in": map[string]any{"product": "quake-circle", "context": map[string]any{"partner": "acme"}, "metadata": map[string]any{"a": "b"}, "clientMutationId": "m1"}})["createQuote"].(map[string]any)
	require.Equal(t, "m1", quoted["clientMutationId"])
	quote := quoted["quote"].(map[string]any)
	require.Equal(t, "PRICED", quote["status"])
	require.Equal(t, map[string]any{"a": "b"}, quote["metadata"])
	bound := d.queryData(t, `mutation($id: ID!) { bindPolicy(input: {quoteId: $id}) { policy { id status coverPhase quote { id status policy { id } } } } }`,
		map[string]any{"id": quote["id"]})["bindPolicy"].(map[string]any)["policy"].(map[string]any)
	require.Equal(t, "ACTIVE", bound["status"])
	require.Equal(t, "IN_FORCE", bound["coverPhase"])
	require.Equal(t, map[string]any{"id": quote["id"], "status": "BOUND", "policy": map[string]any{"id": bound["id"]}}, bound["quote"])
	found := d.queryData(t, `query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }`, map[string]any{"ids": []any{bound["id"], quote["id"], "quo_x", "x"}})["nodes"]
	require.Equal(t, []any{map[string]any{"__typename": "Policy", "id": bound["id"]}, map[string]any{"__typename": "Quote", "id": quote["id"]}, nil, nil}, found)

	again := d.send(t, graphqlRequest{document: `mutation($id: ID!) { bindPolicy(input: {quoteId: $id}) { policy { id } } }`, variables: map[string]any{"id": quote["id"]}})
	require.Equal(t, "quote_already_bound", again.errorCode())
	require.Equal(t, bound["id"], again.Errors[0].Extensions.ResourceID)
}

func TestQuoteOfAnotherEditionLacksItsEventsAlone(t *testing.T) {
	t.Parallel()
	d := newFixture(t, modeltest.WithoutChecks())
	d.StorePlain() // as an older release stored it
	quote := d.Quote("quake-circle", nil)
	_, err := d.DB.Pool.Exec(t.Context(), `update quotes set basis = (basis::jsonb || '{"dataset_digest": "sha256:of-last-year"}')::json`)
	require.NoError(t, err)
	got := d.send(t, graphqlRequest{document: `query($id: ID!) { quote(id: $id) { id weighedEvents { totalCount } } }`, variables: map[string]any{"id": quote.ID}})
	require.Equal(t, "state_conflict", got.errorCode())
	require.Equal(t, []any{"quote", "weighedEvents"}, got.Errors[0].Path)
	require.JSONEq(t, `{"quote": {"id": "`+quote.ID+`", "weighedEvents": null}}`, string(got.Data))
}

func TestInvalidInputIsRejected(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	got := d.send(t, graphqlRequest{document: `mutation { createQuote(input: {product: "quake-circle", context: {partner: "acme", radius_km: -1}, partnerReference: ""}) { quote { id } } }`})
	require.Equal(t, "validation_failed", got.errorCode())
	require.Equal(t, 422, got.Errors[0].Extensions.Status)
	require.Equal(t, "/input/context/radius_km", got.Errors[0].Extensions.Errors[0].Pointer)
	require.Equal(t, "/input/partnerReference", got.Errors[0].Extensions.Errors[1].Pointer)
	require.Equal(t, []any{"createQuote"}, got.Errors[0].Path)
	got = d.send(t, graphqlRequest{document: `mutation { createQuote(input: {product: "quake-circle", context: {partner: "acme", radius_km: -1}}) { quote { id } } }`})
	require.Equal(t, "/input/context/radius_km", got.Errors[0].Extensions.Errors[0].Pointer)
	got = d.send(t, graphqlRequest{as: "globex", document: `query($id: ID!) { quote(id: $id) { id } }`, variables: map[string]any{"id": d.Quote("quake-circle", modeltest.Context{}).ID}})
	require.Equal(t, "not_found", got.errorCode())
}
