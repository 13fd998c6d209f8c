package graph_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/model/kernel/apperr"
)

// The schema allows a nullable variable with a default value in @include and @skip; its
// null is an error of the request, so that nothing runs.
func TestNullConditionIsRejectedBeforeExecution(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{})
	policy := s.QuoteAndBind("quake-circle", nil)
	before := s.CountRows()
	want := []apperr.FieldError{{Pointer: "/variables/b", Code: "null", Detail: "It must not be null: give true or false."}}
	for _, document := range []string{
		`query($b: Boolean = true) { viewer { name @include(if: $b) } }`,
		`query($b: Boolean = true) { viewer { name @skip(if: $b) } }`,
		`query($b: Boolean = true) { viewer @include(if: $b) { name } }`,
		`query($b: Boolean = true) { viewer { ... @include(if: $b) { name } } }`,
		`query($b: Boolean = true) { viewer { ...f @skip(if: $b) } } fragment f on Viewer { name }`,
		`query($b: Boolean = true) { viewer { ...f } } fragment f on Viewer { ...g } fragment g on Viewer { name @skip(if: $b) }`,
		`query($b: Boolean = true) { policies { nodes { ... on Policy { id @include(if: true) @skip(if: $b) } } } }`,
		`subscription($b: Boolean = true) { events @include(if: $b) { id } }`,
		`subscription($b: Boolean = true) { events { id @include(if: $b) } }`,
		fmt.Sprintf(`mutation($b: Boolean = true) { openClaim(input: {policyId: %q}) { claim { id @include(if: $b) } } }`, policy.ID),
	} {
		out := s.send(t, graphqlRequest{document: document, variables: map[string]any{"b": nil}, headers: []string{"Accept: application/graphql-response+json"}})
		require.Equal(t, http.StatusBadRequest, out.status, out.body)
		require.Equal(t, "validation_failed", out.errorCode(), out.body)
		require.Empty(t, out.Data, "nothing has run")
		require.Equal(t, want, out.Errors[0].Extensions.Errors, document)

		body, err := json.Marshal(map[string]any{"query": document, "variables": map[string]any{"b": nil}})
		require.NoError(t, err)
		event, _ := s.openStream(t.Context(), t, "acme", string(body)).nextEvent()
		require.Equal(t, want, event.Errors[0].Extensions.Errors, document)

		c := s.dialSocket(t, "acme")
		c.sendMessage(`{"id":"1","type":"subscribe","payload":` + string(body) + `}`)
		refused := c.readMessage()
		require.Equal(t, "error", refused.Type, document)
		require.Contains(t, string(refused.Payload), `"/variables/b"`, document)
	}
	require.Equal(t, before, s.CountRows())
}

// Null is an error only where the executed operation takes the variable as a condition.
func TestNullVariableWithoutConditionIsAllowed(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	document := `mutation($ordered: Boolean = true, $c: Boolean = false) { createWebhookEndpoint(input: {url: "https://partner.example/hooks", ordered: $ordered}) { webhookEndpoint { ordered @skip(if: $c) } } }`
	made := d.queryData(t, document, map[string]any{"ordered": nil})
	require.Equal(t, map[string]any{"ordered": false}, made["createWebhookEndpoint"].(map[string]any)["webhookEndpoint"])
}
