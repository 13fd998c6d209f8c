package graph_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/graph/generated"
)

// libraryIntrospection returns gqlgen's own introspection result.
func libraryIntrospection(t *testing.T, document string) map[string]any {
	t.Helper()
	server := handler.New(generated.NewExecutableSchema(generated.Config{}))
	server.AddTransport(transport.POST{})
	server.Use(extension.Introspection{})
	body, err := json.Marshal(map[string]any{"query": document})
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(string(body)))
	request.Header.Set("Content-Type", jsonType)
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, request)
	var answer struct{ Data map[string]any }
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &answer, json.MatchCaseInsensitiveNames(true)), recorder.Body)
	require.NotEmpty(t, answer.Data, recorder.Body)
	return answer.Data
}

// withoutDefer removes the directive that the library adds and that is not served.
func withoutDefer(data map[string]any) map[string]any {
	if whole, asked := data["__schema"].(map[string]any); asked {
		var served []any
		for _, directive := range whole["directives"].([]any) {
			if directive.(map[string]any)["name"] != "defer" {
				served = append(served, directive)
			}
		}
		whole["directives"] = served
	}
	return data
}

func TestIntrospectionEqualsGqlgen(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, document := range []string{
		introspectionDocument(t),
		`{ __type(name: "Quote") { kind name fields { name args { name defaultValue } type { kind name ofType { name } } } enumValues { name } inputFields { name } ofType { name } interfaces { name } possibleTypes { name } specifiedByURL isOneOf } }`,
		`{ __type(name: "Node") { possibleTypes { name } } order: __type(name: "Order") { enumValues(includeDeprecated: true) { name isDeprecated } } at: __type(name: "DateTime") { specifiedByURL } }`,
		`{ __type(name: "Nobody") { name } __typename }`,
	} {
		require.Equal(t, withoutDefer(libraryIntrospection(t, document)), d.queryData(t, document, nil))
	}
}
