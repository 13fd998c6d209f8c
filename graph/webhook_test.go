package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/kernel/apperr"
)

// relayEvents numbers all waiting events.
func (d *fixture) relayEvents(t *testing.T) {
	t.Helper()
	for {
		n, err := d.Service.Events.Relay(t.Context())
		require.NoError(t, err)
		if n == 0 {
			return
		}
	}
}

const created = `mutation($in: CreateWebhookEndpointInput!) { createWebhookEndpoint(input: $in) {
	secret clientMutationId webhookEndpoint { id url eventTypes status ordered note partnerReference metadata version } } }`

// createEndpoint creates a webhook endpoint of acme.
func (d *fixture) createEndpoint(t *testing.T) (id string) {
	t.Helper()
	in := map[string]any{"in": map[string]any{"url": "https://partner.example/hooks"}}
	id = d.queryData(t, created, in)["createWebhookEndpoint"].(map[string]any)["webhookEndpoint"].(map[string]any)["id"].(string)
	d.relayEvents(t)
	return id
}

func TestWebhookSecretIsShownOnce(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	in := map[string]any{"in": map[string]any{
		"url": "https://partner.example/hooks", "eventTypes": []string{"CLAIM_OPENED", "PAYOUT_METHOD_RECORDED"}, "ordered": true,
		"partnerReference": "main", "metadata": map[string]any{"team": "claims"}, "clientMutationId": "m1",
	}}
	first := d.queryData(t, created, in)["createWebhookEndpoint"].(map[string]any)
	require.True(t, strings.HasPrefix(first["secret"].(string), "whsec_"))
	endpoint := first["webhookEndpoint"].(map[string]any)
	id := endpoint["id"].(string)
	require.Equal(t, map[string]any{
		"id": id, "url": "https://partner.example/hooks", "eventTypes": []any{"CLAIM_OPENED", "PAYOUT_METHOD_RECORDED"}, "status": "ENABLED",
		"ordered": true, "note": nil, "partnerReference": "main", "metadata": map[string]any{"team": "claims"}, "version": 1.0,
	}, endpoint)
	require.Equal(t, first, d.queryData(t, created, in)["createWebhookEndpoint"], "sent again")
	rotated := d.queryData(t, `mutation($id: ID!) { rotateWebhookSecret(input: {webhookEndpointId: $id}) { secret } }`, map[string]any{"id": id})
	require.NotEqual(t, first["secret"], rotated["rotateWebhookSecret"].(map[string]any)["secret"])
	read := d.send(t, graphqlRequest{document: `query($id: ID!) { node(id: $id) { id ... on WebhookEndpoint { url status } } webhookEndpoint(id: $id) { url } events { nodes { data } } }`, variables: map[string]any{"id": id}})
	require.Empty(t, read.Errors, read.body)
	require.NotContains(t, read.body, "whsec_")

	change := `mutation($in: ChangeWebhookEndpointInput!) { changeWebhookEndpoint(input: $in) { webhookEndpoint { eventTypes status ordered } } }`
	changed := d.queryData(t, change, map[string]any{"in": map[string]any{"webhookEndpointId": id, "everyEventType": true, "status": "DISABLED"}})
	require.Equal(t, map[string]any{"eventTypes": nil, "status": "DISABLED", "ordered": true}, changed["changeWebhookEndpoint"].(map[string]any)["webhookEndpoint"])
	both := d.send(t, graphqlRequest{document: change, variables: map[string]any{"in": map[string]any{"webhookEndpointId": id, "everyEventType": true, "eventTypes": []string{"CLAIM_OPENED"}}}})
	require.Equal(t, []apperr.FieldError{{Pointer: "/input/everyEventType", Code: "not_allowed", Detail: "Give eventTypes, or everyEventType, not both."}}, both.Errors[0].Extensions.Errors)
	gone := d.queryData(t, `mutation($id: ID!) { deleteWebhookEndpoint(input: {webhookEndpointId: $id, clientMutationId: "m2"}) { webhookEndpointId } }`, map[string]any{"id": id})
	require.Equal(t, map[string]any{"webhookEndpointId": id}, gone["deleteWebhookEndpoint"])
	require.Empty(t, d.queryData(t, `{ webhookEndpoints { nodes { id } } }`, nil)["webhookEndpoints"].(map[string]any)["nodes"])
}

func TestDeliveriesOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	id := map[string]any{"id": d.createEndpoint(t)}
	tested := d.queryData(t, `mutation($id: ID!) { testWebhookEndpoint(input: {webhookEndpointId: $id}) { delivery { id status attempts { at } event { type sequence data } endpoint { id } } } }`, id)
	delivery := tested["testWebhookEndpoint"].(map[string]any)["delivery"].(map[string]any)
	require.Equal(t, "PENDING", delivery["status"])
	require.Equal(t, "WEBHOOK_ENDPOINT_ENABLED", delivery["event"].(map[string]any)["type"])
	require.Equal(t, id["id"], delivery["endpoint"].(map[string]any)["id"])
	require.Equal(t, id["id"], delivery["event"].(map[string]any)["data"].(map[string]any)["object"].(map[string]any)["id"])

	_, err := d.DB.Bun.NewRaw(`update deliveries set status = 'failed', attempts_in_round = 10, next_attempt_at = null,
		attempts = '[{"at": "2026-01-02T03:04:05Z", "status_code": 503, "error": null, "duration_ms": 12, "answer": "closed"}]'`).Exec(t.Context())
	require.NoError(t, err)
	listed := `query($id: ID!) { webhookEndpoint(id: $id) { all: deliveries { totalCount nodes { id attempts { at statusCode error durationMs answer } } }
		failed: deliveries(status: FAILED) { totalCount } delivered: deliveries(status: DELIVERED) { totalCount } } }`
	endpoint := d.queryData(t, listed, id)["webhookEndpoint"].(map[string]any)
	require.Equal(t, map[string]any{"totalCount": 1.0, "nodes": []any{map[string]any{"id": delivery["id"], "attempts": []any{map[string]any{
		"at": "2026-01-02T03:04:05.000000Z", "statusCode": 503.0, "error": nil, "durationMs": 12.0, "answer": "closed",
	}}}}}, endpoint["all"])
	require.Equal(t, map[string]any{"totalCount": 1.0}, endpoint["failed"])
	require.Equal(t, map[string]any{"totalCount": 0.0}, endpoint["delivered"])

	retry := `mutation($id: ID!, $first: Long, $key: String) { retryFailedDeliveries(input: {webhookEndpointId: $id, firstSequence: $first, clientMutationId: $key}) { count clientMutationId } }`
	none := d.queryData(t, retry, map[string]any{"id": id["id"], "first": 2})
	require.InDelta(t, 0, none["retryFailedDeliveries"].(map[string]any)["count"], 0)
	for range 2 { // the second response repeats the first one
		some := d.queryData(t, retry, map[string]any{"id": id["id"], "key": "m1"})
		require.Equal(t, map[string]any{"count": 1.0, "clientMutationId": "m1"}, some["retryFailedDeliveries"])
	}
	again := d.queryData(t, `mutation($id: ID!) { retryDelivery(input: {deliveryId: $id}) { delivery { status } } }`, map[string]any{"id": delivery["id"]})
	require.Equal(t, "PENDING", again["retryDelivery"].(map[string]any)["delivery"].(map[string]any)["status"])
	found := d.queryData(t, `query($id: ID!) { node(id: $id) { ... on Delivery { status eventId } } }`, map[string]any{"id": delivery["id"]})
	require.NotEmpty(t, found["node"].(map[string]any)["eventId"])
}

func TestEventFeedOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.QuoteAndBind("quake-circle", nil)
	d.relayEvents(t)
	page := d.queryData(t, `{ events(first: 2) { totalCount pageInfo { endCursor hasNextPage } nodes { id type sequence subject { type id version } occurredAt hash data } } }`, nil)["events"].(map[string]any)
	nodes := page["nodes"].([]any)
	require.InDelta(t, 3, page["totalCount"], 0)
	require.Equal(t, "QUOTE_CREATED", nodes[0].(map[string]any)["type"])
	info := page["pageInfo"].(map[string]any)
	require.Equal(t, true, info["hasNextPage"])
	rest := d.queryData(t, `query($after: String) { events(after: $after) { nodes { sequence subject { type id } } } }`, map[string]any{"after": info["endCursor"]})["events"].(map[string]any)["nodes"].([]any)
	require.Equal(t, []any{map[string]any{"sequence": 3.0, "subject": map[string]any{"type": "policy", "id": policy.ID}}}, rest)
	only := d.queryData(t, `query($id: ID!) { events(filter: {afterSequence: 1, types: [QUOTE_CREATED, POLICY_ACTIVATED], subject: $id}) { nodes { type } } }`, map[string]any{"id": policy.ID})
	require.Equal(t, []any{map[string]any{"type": "POLICY_ACTIVATED"}}, only["events"].(map[string]any)["nodes"])
	one := d.queryData(t, `query($id: ID!) { event(id: $id) { sequence partner version } node(id: $id) { id } }`, map[string]any{"id": nodes[1].(map[string]any)["id"]})
	require.Equal(t, map[string]any{"sequence": 2.0, "partner": "acme", "version": 1.0}, one["event"])

	proof := `query($partner: String) { historyProof(partner: $partner) { partner intact events last hash checkpoints signedAt faults { sequence kind detail } } }`
	proved := d.queryData(t, proof, nil)["historyProof"].(map[string]any)
	require.Equal(t, true, proved["intact"])
	require.Equal(t, proved, d.queryDataAs(t, "operator", proof, map[string]any{"partner": "acme"})["historyProof"])
	require.Equal(t, "not_found", d.send(t, graphqlRequest{as: "operator", document: proof, variables: map[string]any{"partner": "nosuch"}}).errorCode())
	for _, refused := range []graphqlRequest{
		{as: "operator", document: `{ events { nodes { id } } }`},
		{as: "operator", document: `{ historyProof { intact } }`},
		{document: `{ events(filter: {partner: "globex"}) { nodes { id } } }`},
		{document: `{ events(filter: {afterSequence: -1}) { nodes { id } } }`},
		{document: proof, variables: map[string]any{"partner": "globex"}},
	} {
		require.Equal(t, "parameter_invalid", d.send(t, refused).errorCode(), refused.document)
	}
	require.Equal(t, "insufficient_scope", d.send(t, graphqlRequest{as: "unscoped", document: `{ events { nodes { id } } }`}).errorCode())
}

// The event catalogue of a console: every type in order, with its description, schema and
// example, which are the domain's own.
func TestEventCatalogueOverGraphQL(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	listed := d.queryData(t, `{ eventTypes { type name subject description schema example } }`, nil)["eventTypes"].([]any)
	described, err := events.Descriptions()
	require.NoError(t, err)
	require.Len(t, listed, len(described))
	said := map[string]map[string]string{"EventType": {}, "TimelineKind": {}}
	for name, words := range said {
		for _, value := range loadCommittedSchema(t).Types[name].EnumValues {
			words[value.Name] = value.Description
		}
	}
	for i, kind := range described {
		word := strings.ToUpper(strings.ReplaceAll(kind.Name(), ".", "_"))
		row := listed[i].(map[string]any)
		require.Equal(t, []any{word, kind.Name(), kind.Subject, kind.Description}, []any{row["type"], row["name"], row["subject"], row["description"]})
		for member, want := range map[string]jsontext.Value{"schema": kind.Schema, "example": kind.Example} {
			got, err := json.Marshal(row[member])
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got), kind.Name())
		}
		require.Equal(t, kind.Description, said["EventType"][word], "graph/schema/event.graphqls")
		require.Equal(t, kind.Description, said["TimelineKind"][word], "graph/schema/timeline.graphqls")
	}
	require.Equal(t, "insufficient_scope", d.send(t, graphqlRequest{as: "unscoped", document: `{ eventTypes { name } }`}).errorCode())
}

func TestOperatorsReadWebhooks(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	endpoint := d.createEndpoint(t)
	for _, verb := range []string{"deleteWebhookEndpoint", "rotateWebhookSecret", "testWebhookEndpoint", "retryFailedDeliveries"} {
		document := fmt.Sprintf(`mutation { %s(input: {webhookEndpointId: %q}) { clientMutationId } }`, verb, endpoint)
		require.Equal(t, "insufficient_scope", d.send(t, graphqlRequest{as: "operator", document: document}).errorCode(), "operators do not act for partners")
	}
	seen := d.queryDataAs(t, "operator", `{ webhookEndpoints(filter: {partner: "acme"}) { nodes { id deliveries { nodes { id } } } } }`, nil)
	require.Len(t, seen["webhookEndpoints"].(map[string]any)["nodes"], 1)
}
