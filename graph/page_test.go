package graph_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/graph/generated"
	"parapet/graph/guard"
)

// The first examples of the sandbox are valid in the schema.
func TestSandboxExamplesAreValid(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("sandbox/page/examples.json")
	require.NoError(t, err)
	var tabs []struct{ Query, Variables string }
	require.NoError(t, json.Unmarshal(content, &tabs, json.MatchCaseInsensitiveNames(true)))
	require.GreaterOrEqual(t, len(tabs), 3)
	g := guard.New(generated.NewExecutableSchema(generated.Config{}).Schema(), guard.Standard())
	for _, tab := range tabs {
		document, err := g.Read(tab.Query)
		require.NoError(t, err)
		require.Empty(t, document.Validate(true))
	}
}

func TestBrowsersAreRedirectedToSandbox(t *testing.T) {
	t.Parallel()
	d := newFixture(t).newHandlerWith(t, graph.Config{SandboxPath: "/sandbox"})
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct {
		method, address, accept string
		status                  int
	}{
		{http.MethodGet, "/graphql", browser, http.StatusSeeOther},
		{http.MethodGet, "/graphql", "*/*", http.StatusUnauthorized},
		{http.MethodGet, "/graphql?query=%7B__typename%7D", browser, http.StatusUnauthorized},
		{http.MethodPost, "/graphql", browser, http.StatusUnauthorized},
	} {
		request := httptest.NewRequestWithContext(t.Context(), c.method, c.address, http.NoBody)
		request.Header.Set("Accept", c.accept)
		recorder := httptest.NewRecorder()
		d.ServeHTTP(recorder, request)
		require.Equal(t, c.status, recorder.Code, c)
		if c.status == http.StatusSeeOther {
			require.Equal(t, "/sandbox", recorder.Header().Get("Location"))
		}
	}
}
