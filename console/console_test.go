package console_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/console"
)

func newConsole(t *testing.T, config console.Config) http.Handler {
	t.Helper()
	handlers, err := console.New(config)
	require.NoError(t, err)
	mux := http.NewServeMux()
	for address, handler := range handlers {
		mux.Handle(address, handler)
	}
	return mux
}

func get(t *testing.T, handler http.Handler, address, encoding string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	request.Header.Set("Accept-Encoding", encoding)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

func discovered(context.Context) (console.Endpoints, error) {
	return console.Endpoints{Issuer: "https://id.example.com", Authorization: "https://login.example.com/authorize", Token: "https://tokens.example.com/token"}, nil
}

var assetLink = regexp.MustCompile(`(?:src|href)="(/console/assets/[^"]+)"`)

// Every address of the console has the same document; it may run our files only and
// connect to this server and the token endpoint only.
func TestPageAndItsFiles(t *testing.T) {
	t.Parallel()
	handler := newConsole(t, console.Config{Client: `"><script>`, Discover: discovered, Params: url.Values{"resource": {"urn:own"}, "scope": {"openid staff"}}})
	for _, address := range []string{"/console", "/console/claims/clm_1"} {
		page := get(t, handler, address, "br")
		require.Equal(t, http.StatusOK, page.Code)
		require.Equal(t, "no-store", page.Header().Get("Cache-Control"))
		require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' https://tokens.example.com; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'", page.Header().Get("Content-Security-Policy"))
		require.NotContains(t, page.Body.String(), `"><script>`)
		require.Contains(t, page.Body.String(), "openid staff")
		found := assetLink.FindAllStringSubmatch(page.Body.String(), -1)
		require.GreaterOrEqual(t, len(found), 3)
		for _, match := range found {
			checkAsset(t, handler, match[1])
		}
	}
	require.Equal(t, http.StatusNotFound, get(t, handler, "/console/assets/none.js", "br").Code)
}

// checkAsset compares the encodings of a file.
func checkAsset(t *testing.T, handler http.Handler, address string) {
	t.Helper()
	plain := get(t, handler, address, "br;q=0, identity")
	require.Equal(t, http.StatusOK, plain.Code, address)
	require.Empty(t, plain.Header().Get("Content-Encoding"))
	zipped := get(t, handler, address, "gzip, deflate")
	require.Equal(t, "gzip", zipped.Header().Get("Content-Encoding"))
	require.Equal(t, "br", get(t, handler, address, "gzip, deflate, br").Header().Get("Content-Encoding"))
	for _, answer := range []*httptest.ResponseRecorder{plain, zipped} {
		require.Equal(t, "public, max-age=31536000, immutable", answer.Header().Get("Cache-Control"))
		require.Equal(t, "Accept-Encoding", answer.Header().Get("Vary"))
		require.Equal(t, "nosniff", answer.Header().Get("X-Content-Type-Options"))
	}
	reader, err := gzip.NewReader(bytes.NewReader(zipped.Body.Bytes()))
	require.NoError(t, err)
	unzipped, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Equal(t, plain.Body.String(), string(unzipped))
}

func TestPageWaitsForTheIssuer(t *testing.T) {
	t.Parallel()
	down, asked := true, 0
	handler := newConsole(t, console.Config{Discover: func(ctx context.Context) (console.Endpoints, error) {
		asked++
		if down {
			return console.Endpoints{}, errors.New("refused")
		}
		return discovered(ctx)
	}})
	page := get(t, handler, console.Path, "")
	require.Equal(t, http.StatusServiceUnavailable, page.Code)
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "default-src 'none'")
	down = false
	require.Equal(t, http.StatusOK, get(t, handler, console.Path, "").Code)
	require.Equal(t, http.StatusOK, get(t, handler, console.Path, "").Code)
	require.Equal(t, 2, asked)
}

func TestDocumentsAreNamedByTheirHash(t *testing.T) {
	t.Parallel()
	documents, err := console.Documents()
	require.NoError(t, err)
	require.NotEmpty(t, documents)
	for name, text := range documents {
		require.Equal(t, hexSum([]byte(text)), name)
	}
}

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// The committed files were built from the committed sources. `make console` builds them.
func TestDistIsOfTheseSources(t *testing.T) {
	t.Parallel()
	files := []string{"build.mjs", "index.html", "package-lock.json"}
	require.NoError(t, filepath.WalkDir("src", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, filepath.ToSlash(path))
		}
		return err
	}))
	slices.Sort(files)
	var lines strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		fmt.Fprintf(&lines, "%s  %s\n", hexSum(content), file)
	}
	recorded, err := os.ReadFile("dist/sources.sha256")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(recorded)), hexSum([]byte(lines.String())), "console/dist is older than its sources: run make console and commit it")
}
