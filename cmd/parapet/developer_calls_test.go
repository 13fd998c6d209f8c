package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A partner's developer finds what became of a request by its id, over REST and GraphQL.
func TestDevelopersFindTheirRequests(t *testing.T) {
	t.Parallel()
	w := newTestStack(t)
	token := ""
	for _, c := range w.info.Clients {
		if c.Name == "acme" {
			token = c.Token
		}
	}
	send := func(id, method, path, body string) {
		_, _ = w.sendRequest(t, token, method, path, body, "X-Request-Id: "+id)
	}
	send("call-1", http.MethodPost, "/v1/quotes", `{"product": "none", "context": {}}`)
	send("call-2", http.MethodPost, "/v1/quotes", `{"product": "quake-circle", "context": {"partner": "acme"}}`)
	send("call-3", http.MethodGet, "/v1/quotes", "")
	send("call-4", http.MethodPost, "/graphql", `{"query": "mutation { a: createQuote(input: {product: \"quake-circle\", context: {partner: \"acme\"}}) { quote { id } } b: createQuote(input: {product: \"none\", context: {}}) { quote { id } } }"}`)
	send("call-5", http.MethodPost, "/graphql", `{"query": "{ viewer { partner } }"}`)
	var shown map[string]any
	require.Eventually(t, func() bool { // calls are saved once a second
		shown = w.callAs(t, "acme", http.MethodPost, "/graphql", `{"query": "{ recentCalls { nodes { requestId operation status code } } }"}`, http.StatusOK)
		text, err := json.Marshal(shown)
		return err == nil && strings.Count(string(text), `"call-4"`) == 2
	}, time.Minute, 100*time.Millisecond)
	found := map[string][]any{}
	for _, node := range shown["data"].(map[string]any)["recentCalls"].(map[string]any)["nodes"].([]any) {
		call := node.(map[string]any)
		found[call["requestId"].(string)] = append(found[call["requestId"].(string)], []any{call["operation"], call["status"], call["code"]})
	}
	require.Equal(t, []any{[]any{"createQuote", 422.0, "product_unknown"}}, found["call-1"])
	require.Equal(t, []any{[]any{"createQuote", 201.0, nil}}, found["call-2"])
	require.ElementsMatch(t, []any{[]any{"createQuote", 200.0, nil}, []any{"b", 422.0, "product_unknown"}}, found["call-4"])
	require.Empty(t, found["call-3"], "reads are not recorded")
	require.Empty(t, found["call-5"])
}
