package rest_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/model/wire"
)

// goldenRun is the scenario of one partner from reading a product to the payout, over the
// whole API. Its responses are the golden files and the examples of the OpenAPI document.
type goldenRun struct {
	*testServer

	canon    *canonicalizer
	golden   map[string]string         // the exchange, by the name of its file
	examples map[string]map[string]any // requests and responses, by operation
}

// TestGolden compares the scenario's responses with the committed ones, byte by byte.
// After an intended change: make generate.
func TestGolden(t *testing.T) {
	t.Parallel()
	s := &goldenRun{testServer: newTestServer(t), canon: newCanonicalizer(), golden: map[string]string{}, examples: map[string]map[string]any{}}
	s.run(t)
	s.sendFailingRequests(t)
	s.readProgress(t)
	const folder = "testdata/golden"
	if *update {
		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.MkdirAll(folder, 0o755))
	}
	for _, name := range slices.Sorted(maps.Keys(s.golden)) {
		requireGolden(t, filepath.Join(folder, name), s.golden[name])
	}
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, files, len(s.golden), "a file of no call is left over")
	examples, err := json.Marshal(s.examples, json.Deterministic(true), jsontext.WithIndent("\t"))
	require.NoError(t, err)
	requireGolden(t, "examples.json", string(examples)+"\n")
}

// requireGolden compares a text with the committed one, or updates it.
func requireGolden(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	committed, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(committed), text, "%s: make generate, and look at what changed", file)
}

// sendFailingRequests causes one problem of each kind that a partner can receive.
func (s *goldenRun) sendFailingRequests(t *testing.T) {
	t.Helper()
	policy := decodeRecord[wire.List[wire.Policy]](t, s.get(t, "/v1/policies")).Data[0]
	s.callAndRecord(t, "createPolicy", 409, "POST", "/policies", `{"quote_id":"`+policy.QuoteID+`"}`)
	s.callAndRecord(t, "createQuote", 400, "POST", "/quotes", addMembers(quoteBody, `"colour":"blue"`))
	s.callAndRecord(t, "createQuote", 422, "POST", "/quotes", `{"product":"quake-circle","context":{"partner":"acme","radius_km":"wide","location":{"latitude":91}}}`)
	s.callAndRecord(t, "getQuote", 404, "GET", "/quotes/quo_01h455vb4pex5vsknk084sn02q", "")
	weak := strings.Replace(s.earthquakeBody(t, "us2000weak"), `"6.4"`, `"5.9"`, 1)
	s.callAndRecord(t, "createSandboxObservations", 201, "POST", "/sandbox/observations", weak)
	s.callAndRecord(t, "createClaim", 422, "POST", "/claims", `{"policy_id":"`+policy.ID+`","source_event":{"source":"usgs","id":"us2000weak"}}`)
	s.callAndRecord(t, "deletePolicy", 405, "DELETE", "/policies/"+policy.ID, "")
}

// readProgress reads the progress of the occurrence of the oldest claim.
func (s *goldenRun) readProgress(t *testing.T) {
	t.Helper()
	claims := decodeRecord[wire.List[wire.Claim]](t, s.get(t, "/v1/claims")).Data
	s.callAndRecord(t, "getOccurrenceProgress", 200, "GET", "/occurrences/"+claims[len(claims)-1].Occurrence.ID+"/progress", "")
	s.callAndRecord(t, "listSources", 200, "GET", "/sources?limit=1", "")
	revised := strings.Replace(s.earthquakeBody(t, "us2000weak"), `"6.4"`, `"5.8"`, 1)
	observation := decodeRecord[wire.Observation](t, s.callAndRecord(t, "createSandboxObservations: revision", 201, "POST", "/sandbox/observations", revised))
	s.callAndRecord(t, "listObservationRevisions", 200, "GET", "/observations/"+observation.ID+"/revisions", "")
}

// callAndRecord makes one call of the scenario and records it.
func (s *goldenRun) callAndRecord(t *testing.T, operation string, status int, method, path, body string) *reply {
	t.Helper()
	number := len(s.golden) + 1
	r := request{method, "/v1" + path, body, []string{fmt.Sprintf("X-Request-Id: golden-%02d", number)}}
	client := map[bool]string{true: "source", false: "acme"}[path == "/observations"]
	answer := s.sendAs(t, client, nil, r)
	require.Equal(t, status, answer.StatusCode, "%s: %s", operation, answer.Body)
	if tag := answer.Header.Get("ETag"); tag != "" && !strings.HasSuffix(path, "/content") {
		require.Equal(t, entityTag(string(answer.Body)), tag)
	}
	said := &reply{answer.StatusCode, http.Header{}, []byte(s.canon.replaceVolatile(string(answer.Body)))}
	for name := range answer.Header {
		said.Header.Set(name, s.canon.replaceVolatile(answer.Header.Get(name)))
	}
	asked := request{method, s.canon.replaceVolatile(r.path), s.canon.replaceVolatile(body), nil}
	name, _, _ := strings.Cut(operation, ": ")
	s.golden[fmt.Sprintf("%02d_%s_%d.http", number, name, status)] = formatExchange(asked, said)
	if status < http.StatusBadRequest {
		s.saveExample(t, operation, asked, said)
	}
	return answer
}

// formatExchange formats a request and its response. The digest is that of the canonical
// body; headers of tracing, which are random, are left out.
func formatExchange(r request, answer *reply) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Generated by make generate. Ids, times and cursors are canonical.\n%s %s\n", r.method, r.path)
	if r.body != "" {
		fmt.Fprintf(&text, "\n%s\n", r.body)
	}
	fmt.Fprintf(&text, "\n### %d %s\n", answer.StatusCode, http.StatusText(answer.StatusCode))
	for _, name := range slices.Sorted(maps.Keys(answer.Header)) {
		value := answer.Header.Get(name)
		switch {
		case name == "Traceparent":
			continue
		case name == "Etag" && strings.Contains(answer.Header.Get("Content-Type"), "json"):
			value = entityTag(string(answer.Body))
		case name == readAfter:
			value = "1:0/16B3748"
		}
		fmt.Fprintf(&text, "%s: %s\n", name, value)
	}
	fmt.Fprintf(&text, "\n%s\n", answer.Body)
	return text.String()
}
