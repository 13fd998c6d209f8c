package rest_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/rest"
)

var referencePattern = regexp.MustCompile(`(?:src|href)="([^"]+)"`)

// The page loads everything from this server and may connect only to it.
func TestDocsPageLoadsOnlyFromThisServer(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	page := request{"GET", "/docs", "", []string{"Authorization: "}}.sendTo(t, handler)
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "default-src 'none'")
	found := referencePattern.FindAllStringSubmatch(string(page.Body), -1)
	require.GreaterOrEqual(t, len(found), 4)
	guide := request{"GET", "/v1/openapi.json", "", []string{"Authorization: "}}.sendTo(t, handler)
	pictures := regexp.MustCompile(`!\[[^]]+\]\(([^)]+)\)`).FindAllStringSubmatch(string(guide.Body), -1)
	require.NotEmpty(t, pictures, "the guide shows the life of a quote")
	found = append(found, pictures...)
	for _, match := range found {
		if strings.HasPrefix(match[1], "data:") {
			continue
		}
		response := request{"GET", match[1], "", []string{"Authorization: "}}.sendTo(t, handler)
		require.Equal(t, http.StatusOK, response.StatusCode, match[1])
		require.Less(t, len(response.Body), 4<<20)
		again := request{"GET", match[1], "", []string{"If-None-Match: " + response.Header.Get("ETag")}}.sendTo(t, handler)
		require.Equal(t, http.StatusNotModified, again.StatusCode, match[1])
	}
}

// Only the page /verify may compile WebAssembly. Its program fits the budget.
func TestVerifyPageMayRunItsProgram(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	read := func(address string) *reply {
		response := request{"GET", address, "", []string{"Authorization: "}}.sendTo(t, handler)
		require.Equal(t, http.StatusOK, response.StatusCode, address)
		return response
	}
	page := read("/verify")
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "'wasm-unsafe-eval'")
	require.NotContains(t, page.Header.Get("Content-Security-Policy"), "'unsafe-")
	require.NotContains(t, read("/docs").Header.Get("Content-Security-Policy"), "wasm")
	for _, match := range referencePattern.FindAllStringSubmatch(string(page.Body), -1) {
		if strings.HasPrefix(match[1], "/verify/") {
			read(match[1])
		}
	}
	program := read("/verify/verify.wasm.gz")
	require.LessOrEqual(t, len(program.Body), 2_000_000)
	require.Equal(t, "\x1f\x8b", string(program.Body[:2]))
}

func TestHomePageIsForBrowsersOnly(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, func(c *rest.Config) {
		c.SharedHandlers = map[string]http.Handler{"GET /sandbox": http.NotFoundHandler()}
	})
	get := func(method, accept string) *reply {
		return request{method, "/", "", []string{"Authorization: ", "Accept: " + accept}}.sendTo(t, handler)
	}
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	page := get("GET", browser)
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.Equal(t, "text/html; charset=utf-8", page.Header.Get("Content-Type"))
	require.Equal(t, "Accept", page.Header.Get("Vary"))
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "default-src 'none'")
	var links []string
	for _, match := range referencePattern.FindAllStringSubmatch(string(page.Body), -1) {
		links = append(links, match[1])
	}
	require.Equal(t, []string{"data:,", "/docs", "/v1/openapi.yaml", "/sandbox", "/verify", "/readyz"}, links, "doors that exist")
	for _, accept := range []string{"", "*/*", "application/json", "text/*", "text/html;q=0, */*"} {
		refused := get("GET", accept)
		require.Equal(t, http.StatusNotFound, refused.StatusCode, accept)
		require.Equal(t, "application/problem+json", refused.Header.Get("Content-Type"))
	}
	require.Equal(t, http.StatusNotFound, get("POST", browser).StatusCode)
}
