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

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// persistedExtension is a request with the hash of a document, with or without its text.
func persistedExtension(text, hash string) plain {
	body := fmt.Sprintf(`{"query":%q,"extensions":{"persistedQuery":{"version":1,"sha256Hash":%q}}}`, text, hash)
	return plain{http.MethodPost, "", body, nil}
}

func TestAutomaticPersistedQueries(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const text = "{viewer{kind}}"
	_, out := persistedExtension("", sha256Hex(text)).to(t, d)
	require.Equal(t, "PERSISTED_QUERY_NOT_FOUND", out.errorCode())
	require.Equal(t, "PersistedQueryNotFound", out.Errors[0].Message)
	_, out = persistedExtension(text, sha256Hex("another")).to(t, d)
	require.Equal(t, "parameter_invalid", out.errorCode())
	_, out = persistedExtension(text, sha256Hex(text)).to(t, d)
	require.Empty(t, out.Errors)
	_, out = persistedExtension("", sha256Hex(text)).to(t, d)
	require.Empty(t, out.Errors)
	require.Contains(t, out.body, `"kind":"PARTNER"`)
	extensions := url.QueryEscape(`{"persistedQuery":{"version":1,"sha256Hash":"` + sha256Hex(text) + `"}}`)
	_, out = plain{http.MethodGet, "?extensions=" + extensions, "", nil}.to(t, d)
	require.Empty(t, out.Errors)
	_, out = plain{http.MethodPost, "", `{"documentId":"sha256:` + sha256Hex(text) + `"}`, nil}.to(t, d)
	require.Empty(t, out.Errors)
}

// A rejected document is not cached, and a cached one is checked each time with its
// variables.
func TestPersistedQueriesAreValidated(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for _, text := range []string{"{viewer{" + strings.Repeat("kind ", 1000) + "}}", "{unknown}", "{"} {
		_, out := persistedExtension(text, sha256Hex(text)).to(t, d)
		require.NotEmpty(t, out.Errors)
		_, out = persistedExtension("", sha256Hex(text)).to(t, d)
		require.Equal(t, "PERSISTED_QUERY_NOT_FOUND", out.errorCode())
	}
	for _, extension := range []string{`{}`, `7`, `{"version":2,"sha256Hash":"a"}`, `{"version":1}`, `{"version":1,"sha256Hash":7}`} {
		_, out := plain{http.MethodPost, "", `{"query":"{viewer{kind}}","extensions":{"persistedQuery":` + extension + `}}`, nil}.to(t, d)
		require.Equal(t, "parameter_invalid", out.errorCode(), extension)
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
	d := newFixture(t)
	for _, path := range []string{folder, manifest, object} {
		trusted, err := graph.ReadTrustedDocuments(path)
		require.NoError(t, err)
		d := d.newHandlerWith(t, graph.Config{TrustedDocuments: trusted})
		for body, code := range map[string]string{
			`{"documentId":"who"}`:                            "",
			`{"documentId":"sha256:` + sha256Hex(text) + `"}`: "",
			`{"query":"` + text + `"}`:                        "",
			`{"query":"` + text + `","documentId":"who"}`:     "",
			`{"query":"{viewer{kind}}"}`:                      "query_not_trusted",
			`{"query":"{viewer{kind}}","documentId":"who"}`:   "query_not_trusted",
			`{"documentId":"unknown"}`:                        "query_not_trusted",
			`{}`:                                              "query_not_trusted",
		} {
			recorder, out := plain{http.MethodPost, "", body, nil}.to(t, d)
			require.Equal(t, code, out.errorCode(), body)
			require.Equal(t, map[bool]int{true: 200, false: 403}[code == ""], recorder.Code, body)
		}
		_, out := persistedExtension("", sha256Hex(text)).to(t, d)
		require.Empty(t, out.Errors)
		_, out = persistedExtension("{viewer{kind}}", sha256Hex("{viewer{kind}}")).to(t, d)
		require.Equal(t, "query_not_trusted", out.errorCode())
	}
}

func TestTrustedDocumentsOverStreams(t *testing.T) {
	t.Parallel()
	s := newServedFixtureOn(t, newFixture(t), graph.Config{TrustedDocuments: map[string]string{"feed": "subscription { events { sequence } }"}})
	s.Quote("rain-excess", nil)
	s.relayEvents(t)
	event, _ := s.openStream(t.Context(), t, "acme", `{"documentId":"feed"}`).nextEvent()
	require.EqualValues(t, 1, event.eventSequence(t))
	c := s.dialSocket(t, "acme")
	c.sendMessage(`{"id":"1","type":"subscribe","payload":{"documentId":"feed"}}`)
	require.Equal(t, "next", c.readMessage().Type)
	for _, body := range []string{`{"query":"subscription { events { id } }"}`, `{"query":"{ viewer { kind } }"}`, `{"documentId":"unknown"}`, `{"query":"subscription { events { id } }","documentId":"feed"}`} {
		refused, _ := s.openStream(t.Context(), t, "acme", body).nextEvent()
		require.Equal(t, "query_not_trusted", refused.errorCode(), body)
		c.sendMessage(`{"id":"2","type":"subscribe","payload":` + body + `}`)
		message := c.readMessage()
		require.Equal(t, "error", message.Type)
		require.Contains(t, string(message.Payload), "query_not_trusted", body)
	}
}

func TestInvalidTrustedDocumentPreventsStart(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	_, err := graph.New(graph.Config{Service: d.Service, TrustedDocuments: map[string]string{"a": "{unknown}"}})
	require.ErrorContains(t, err, "the trusted document a: ")
	folder := t.TempDir()
	_, err = graph.ReadTrustedDocuments(folder)
	require.ErrorContains(t, err, "holds no document")
	_, err = graph.ReadTrustedDocuments(filepath.Join(folder, "nothing.json"))
	require.Error(t, err)
	path := filepath.Join(folder, "wrong.json")
	require.NoError(t, os.WriteFile(path, []byte(`["{viewer{kind}}"]`), 0o600))
	_, err = graph.ReadTrustedDocuments(path)
	require.Error(t, err)
}
