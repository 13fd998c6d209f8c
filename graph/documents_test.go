package graph_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/graph"
)

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// persisted is a request with the hash of a document, and its text or not.
func persisted(text, hash string) plain {
	body := fmt.Sprintf(`{"query":%q,"extensions":{"persistedQuery":{"version":1,"sha256Hash":%q}}}`, text, hash)
	return plain{http.MethodPost, "", body, nil}
}

func TestQueriesPersistThemselves(t *testing.T) {
	t.Parallel()
	d := open(t)
	const text = "{viewer{kind}}"
	_, out := persisted("", hash(text)).to(t, d)
	require.Equal(t, "PERSISTED_QUERY_NOT_FOUND", out.code())
	require.Equal(t, "PersistedQueryNotFound", out.Errors[0].Message)
	_, out = persisted(text, hash("another")).to(t, d)
	require.Equal(t, "parameter_invalid", out.code())
	_, out = persisted(text, hash(text)).to(t, d)
	require.Empty(t, out.Errors)
	_, out = persisted("", hash(text)).to(t, d)
	require.Empty(t, out.Errors)
	require.Contains(t, out.body, `"kind":"PARTNER"`)
	extensions := url.QueryEscape(`{"persistedQuery":{"version":1,"sha256Hash":"` + hash(text) + `"}}`)
	_, out = plain{http.MethodGet, "?extensions=" + extensions, "", nil}.to(t, d)
	require.Empty(t, out.Errors)
	_, out = plain{http.MethodPost, "", `{"documentId":"sha256:` + hash(text) + `"}`, nil}.to(t, d)
	require.Empty(t, out.Errors)
}

// What the guard refuses is not remembered, and what is remembered is judged each
// time by the variables it comes with.
func TestPersistedQueriesAreJudged(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, text := range []string{"{viewer{" + strings.Repeat("kind ", 1000) + "}}", "{nobody}", "{"} {
		_, out := persisted(text, hash(text)).to(t, d)
		require.NotEmpty(t, out.Errors)
		_, out = persisted("", hash(text)).to(t, d)
		require.Equal(t, "PERSISTED_QUERY_NOT_FOUND", out.code())
	}
	for _, extension := range []string{`{}`, `7`, `{"version":2,"sha256Hash":"a"}`, `{"version":1}`, `{"version":1,"sha256Hash":7}`} {
		_, out := plain{http.MethodPost, "", `{"query":"{viewer{kind}}","extensions":{"persistedQuery":` + extension + `}}`, nil}.to(t, d)
		require.Equal(t, "parameter_invalid", out.code(), extension)
	}
}

func TestTrustedDocumentsOnly(t *testing.T) {
	t.Parallel()
	const text = "query Who { viewer { kind } }"
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	write("who.graphql", text)
	manifest := write("manifest.json", `{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"who","name":"Who","type":"query","body":"`+text+`"}]}`)
	object := write("object.json", `{"who":"`+text+`"}`)
	d := open(t)
	for _, path := range []string{folder, manifest, object} {
		trusted, err := graph.ReadTrusted(path)
		require.NoError(t, err)
		d := d.with(t, graph.Config{Trusted: trusted})
		for body, code := range map[string]string{
			`{"documentId":"who"}`:                          "",
			`{"documentId":"sha256:` + hash(text) + `"}`:    "",
			`{"query":"` + text + `"}`:                      "",
			`{"query":"` + text + `","documentId":"who"}`:   "",
			`{"query":"{viewer{kind}}"}`:                    "query_not_trusted",
			`{"query":"{viewer{kind}}","documentId":"who"}`: "query_not_trusted",
			`{"documentId":"nobody"}`:                       "query_not_trusted",
			`{}`:                                            "query_not_trusted",
		} {
			recorder, out := plain{http.MethodPost, "", body, nil}.to(t, d)
			require.Equal(t, code, out.code(), body)
			require.Equal(t, map[bool]int{true: 200, false: 403}[code == ""], recorder.Code, body)
		}
		_, out := persisted("", hash(text)).to(t, d)
		require.Empty(t, out.Errors)
		_, out = persisted("{viewer{kind}}", hash("{viewer{kind}}")).to(t, d)
		require.Equal(t, "query_not_trusted", out.code())
	}
}

func TestTrustedDocumentsOverStreams(t *testing.T) {
	t.Parallel()
	s := serveOn(t, open(t), graph.Config{Trusted: map[string]string{"feed": "subscription { events { sequence } }"}})
	s.Quote("rain-excess", nil)
	s.relay(t)
	event, _ := s.stream(t.Context(), t, "acme", `{"documentId":"feed"}`).next()
	require.EqualValues(t, 1, event.sequence(t))
	c := s.dial(t, "acme")
	c.say(`{"id":"1","type":"subscribe","payload":{"documentId":"feed"}}`)
	require.Equal(t, "next", c.hear().Type)
	for _, body := range []string{`{"query":"subscription { events { id } }"}`, `{"query":"{ viewer { kind } }"}`, `{"documentId":"nobody"}`, `{"query":"subscription { events { id } }","documentId":"feed"}`} {
		refused, _ := s.stream(t.Context(), t, "acme", body).next()
		require.Equal(t, "query_not_trusted", refused.code(), body)
		c.say(`{"id":"2","type":"subscribe","payload":` + body + `}`)
		told := c.hear()
		require.Equal(t, "error", told.Type)
		require.Contains(t, string(told.Payload), "query_not_trusted", body)
	}
}

func TestTrustedDocumentsThatCannotRun(t *testing.T) {
	t.Parallel()
	d := open(t)
	_, err := graph.New(graph.Config{Service: d.Service, Trusted: map[string]string{"a": "{nobody}"}})
	require.ErrorContains(t, err, "the trusted document a: ")
	folder := t.TempDir()
	_, err = graph.ReadTrusted(folder)
	require.ErrorContains(t, err, "holds no document")
	_, err = graph.ReadTrusted(filepath.Join(folder, "nothing.json"))
	require.Error(t, err)
	path := filepath.Join(folder, "wrong.json")
	require.NoError(t, os.WriteFile(path, []byte(`["{viewer{kind}}"]`), 0o600))
	_, err = graph.ReadTrusted(path)
	require.Error(t, err)
}
