package rest_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/docs"
	"parapet/internal/errormap"
	"parapet/rest"
)

var referencePattern = regexp.MustCompile(`(?:src|href)="([^"]+)"`)

// Every page of the documentation is small, loads everything from this server, and is
// revalidated without being sent again, compressed or not.
func TestDocsPagesAreSmallAndLoadOnlyFromThisServer(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	files, err := docs.Files()
	require.NoError(t, err)
	require.Greater(t, len(files), 80)
	for name, file := range files {
		address, status := "/docs/"+strings.TrimSuffix(name, ".html"), http.StatusOK
		switch name {
		case "index.html":
			address = "/docs"
		case "404.html":
			address, status = "/docs/no/such-page", http.StatusNotFound
		}
		for coding, body := range map[string]string{"identity": string(file.Content), "br, gzip;q=0.5": string(file.Gzip), "gzip;q=0, *": string(file.Content)} {
			get := func(more ...string) *reply {
				return request{"GET", address, "", append([]string{"Authorization: ", "Accept: text/html", "Accept-Encoding: " + coding}, more...)}.sendTo(t, handler)
			}
			response := get()
			require.Equal(t, status, response.StatusCode, address)
			require.Equal(t, body, string(response.Body), "%s %s", address, coding)
			require.Equal(t, "Accept-Encoding", response.Header.Get("Vary"))
			require.Equal(t, coding == "br, gzip;q=0.5", response.Header.Get("Content-Encoding") == "gzip")
			require.Contains(t, response.Header.Get("Content-Security-Policy"), "default-src 'none'")
			require.Equal(t, "no-cache", response.Header.Get("Cache-Control"))
			if status == http.StatusOK {
				require.Equal(t, http.StatusNotModified, get("If-None-Match: "+response.Header.Get("ETag")).StatusCode, address)
			}
		}
		require.LessOrEqual(t, len(file.Gzip), 150_000, address)
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		require.LessOrEqual(t, len(regexp.MustCompile(`<[a-z]`).FindAll(file.Content, -1)), 3000, address)
		require.NotRegexp(t, `(src|<link[^>]*href)="[^/]`, string(file.Content), "%s loads a file from elsewhere", address)
		require.NotContains(t, string(file.Content), "style=", "the policy refuses styles in a page")
	}
	require.NotContains(t, request{"GET", "/docs", "", []string{"Authorization: "}}.sendTo(t, handler).Header.Get("Content-Security-Policy"), "unsafe")
	asset := request{"GET", "/docs/site.css?v=1", "", []string{"Authorization: "}}.sendTo(t, handler)
	require.Contains(t, asset.Header.Get("Cache-Control"), "immutable")
}

// The type of a problem is the address of a page about its code.
func TestTypeOfEveryProblemIsAPage(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, nil)
	for _, code := range errormap.Codes() {
		page := request{"GET", "/docs/errors/" + string(code), "", []string{"Authorization: "}}.sendTo(t, handler)
		require.Equal(t, http.StatusOK, page.StatusCode, code)
		require.Contains(t, string(page.Body), html.EscapeString(errormap.MeaningOf(code).Title))
		require.Contains(t, string(page.Body), "What to do", code)
	}
	missing := request{"GET", "/docs/errors/none", "", []string{"Authorization: ", "Accept: */*"}}.sendTo(t, handler)
	require.Equal(t, "application/problem+json", missing.Header.Get("Content-Type"), "programs get a problem")
	require.Equal(t, http.StatusNotFound, missing.StatusCode)
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
	for _, match := range referencePattern.FindAllStringSubmatch(string(page.Body), -1) {
		if strings.HasPrefix(match[1], "/verify/") {
			require.NotContains(t, read(match[1]).Header.Get("Content-Security-Policy"), "wasm", match[1])
		}
	}
	for _, address := range []string{"/", "/docs", "/docs/errors/not_found"} {
		other := request{"GET", address, "", []string{"Authorization: ", "Accept: text/html, */*"}}.sendTo(t, handler)
		require.Equal(t, http.StatusOK, other.StatusCode, address)
		require.Contains(t, other.Header.Get("Content-Security-Policy"), "script-src", address)
		require.NotContains(t, other.Header.Get("Content-Security-Policy"), "wasm", address)
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
	require.Equal(t, []string{"/docs/icon.svg", "/docs/site.css", "/docs", "/v1/openapi.yaml", "/sandbox", "/verify", "/readyz"}, links, "addresses that exist")
	for _, accept := range []string{"", "*/*", "application/json", "text/*", "text/html;q=0, */*"} {
		refused := get("GET", accept)
		require.Equal(t, http.StatusNotFound, refused.StatusCode, accept)
		require.Equal(t, "application/problem+json", refused.Header.Get("Content-Type"))
	}
	require.Equal(t, http.StatusNotFound, get("POST", browser).StatusCode)
}
