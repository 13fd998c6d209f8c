package sandbox_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/graph/sandbox"
)

func newSandbox(t *testing.T, config sandbox.Config) http.Handler {
	t.Helper()
	handlers, err := sandbox.New(config)
	require.NoError(t, err)
	mux := http.NewServeMux()
	for address, handler := range handlers {
		mux.Handle(address, handler)
	}
	return mux
}

func getPage(t *testing.T, handler http.Handler, address string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

var linkPattern = regexp.MustCompile(`(?:src|href)="(/sandbox/[^"]+)"`)

// The page loads everything from this server and may connect only to it and the issuers.
func TestPageIsWhole(t *testing.T) {
	t.Parallel()
	handler := newSandbox(t, sandbox.Config{Client: `"><script>`, Issuers: []string{"https://id.example.com/tenant", "http://127.0.0.1:8081"}})
	page := getPage(t, handler, sandbox.Path)
	require.Equal(t, http.StatusOK, page.Code)
	policy := page.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'; script-src 'self';")
	require.Contains(t, policy, "connect-src 'self' https://id.example.com http://127.0.0.1:8081;")
	require.NotContains(t, page.Body.String(), `"><script>`)
	found := linkPattern.FindAllStringSubmatch(page.Body.String(), -1)
	require.Len(t, found, 6)
	for _, match := range append(found, []string{"", sandbox.Path + "/examples.json"}) {
		file := getPage(t, handler, match[1])
		require.Equal(t, http.StatusOK, file.Code, match[1])
		require.Equal(t, policy, file.Header().Get("Content-Security-Policy"))
		again := getPage(t, handler, match[1], "If-None-Match: "+file.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.Code, match[1])
	}
}

func TestSignInAsksForTheConfiguredScopeAndParameters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		params            url.Values
		operator, written string
	}{
		{nil, "openid operator", "{}"},
		{url.Values{"resource": {"urn:own"}, "audience": {`a"b`}}, "openid operator", `{"audience":"a\"b","resource":"urn:own"}`},
		{url.Values{"scope": {"openid staff"}}, "openid staff", "{}"},
	} {
		handler := newSandbox(t, sandbox.Config{Client: "console", Scope: "openid quotes:read", OperatorScope: "openid operator", Params: c.params})
		body := html.UnescapeString(getPage(t, handler, sandbox.Path).Body.String())
		require.Contains(t, body, `data-scope="openid quotes:read" data-operator-scope="`+c.operator+`" data-params="`+c.written+`"`)
	}
}

func TestIssuersMustBeAddresses(t *testing.T) {
	t.Parallel()
	_, err := sandbox.New(sandbox.Config{Issuers: []string{"id.example.com; script-src *"}})
	require.ErrorContains(t, err, "not an absolute address")
}
