package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/wal"
)

func TestGraphQLMutationAnswersItsPosition(t *testing.T) {
	t.Parallel()
	f := newTestFrontend(t)
	send := func(document string, headers ...string) (status int, position, body string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.server.URL+"/graphql", strings.NewReader(`{"query":"`+document+`"}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer x")
		for _, value := range headers {
			request.Header.Add("Parapet-Read-After", value)
		}
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode, answer.Header.Get("Parapet-Read-After"), string(text)
	}
	_, position, body := send(`mutation { createQuote(input: {product: \"quake-circle\", context: {partner: \"acme\"}}) { quote { id } } }`)
	require.NotContains(t, body, "errors")
	_, ok := wal.Parse(position)
	require.True(t, ok, position)

	status, again, body := send("{ quotes(first: 1) { nodes { id } } }", position)
	require.Equal(t, http.StatusOK, status)
	require.NotContains(t, body, "errors")
	require.Empty(t, again, "a read writes nothing")

	for _, malformed := range [][]string{{"yesterday"}, {""}, {position, position}} {
		status, _, body := send("{ quotes(first: 1) { nodes { id } } }", malformed...)
		require.Equal(t, http.StatusBadRequest, status, "%q", malformed)
		require.Contains(t, body, `"code":"parameter_invalid"`)
	}
}
