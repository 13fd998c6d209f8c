package graph_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/modeltest"
)

// Limits of one document, in bytes.
const (
	maxAllocated        = 16 << 20
	maxAllocatedRefused = 10 << 20 // by a document that is refused before it is validated
	maxAnswer           = 8 << 20
)

// largeBook writes records of the largest size allowed: quotes and events with 25 KB of
// metadata, claims with descriptions and messages of 10,000 characters.
var largeBook = []string{
	"set local session_replication_role = replica",
	`insert into quotes select gen_random_uuid(), partner, version, created_at, updated_at, null, metadata, status, product, product_version, context,
		ignored_context, cover, terms_hash, price, basis, history, premium_amount, currency, expires_at, policy_id, offer from quotes, generate_series(1, 150) where metadata is not null`,
	`with copied as (
			insert into events select gen_random_uuid(), e.partner, e.type, e.subject_type, e.subject_id, e.subject_version, e.occurred_at, e.data
			from (select * from events where type = 'quote.created' order by length(data) desc limit 1) as e, generate_series(1, 200) returning id, partner
		)
		insert into event_sequence (partner, sequence, event_id, hash, type) select partner, (select max(sequence) from event_sequence where partner = 'acme') + row_number() over (), id, '\x00', 'quote.created' from copied`,
	"update claims set description = repeat('ü', 10000) where id in (select id from claims order by id limit 200)",
	"update policies set metadata = (select metadata from quotes where metadata is not null limit 1) where id in (select id from policies order by id desc limit 40)",
	"insert into messages (id, partner, created_at, updated_at, claim_id, author_kind, author_name, body) select gen_random_uuid(), partner, opened_at, opened_at, id, 'partner', 'acme', repeat('ü', 10000) from claims order by id limit 400",
}

func (d *fixture) fillLarge(t *testing.T) {
	t.Helper()
	metadata := map[string]string{}
	for i := range 50 {
		metadata[fmt.Sprintf("%040d", i)] = strings.Repeat("é", 250)
	}
	request := d.QuoteRequest("quake-circle", modeltest.Context{"location": map[string]any{"latitude": 38.3, "longitude": 142.4}})
	request.Metadata = metadata
	_, err := d.Service.Quotes.Create(t.Context(), d.Acme, request)
	require.NoError(t, err)
	d.relayEvents(t)
	d.createRecords(t, 3000)
	tx, err := d.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	for _, text := range largeBook {
		_, err = tx.Exec(t.Context(), text)
		require.NoError(t, err, text)
	}
	require.NoError(t, tx.Commit(t.Context()))
}

// documentCost is the resources used to answer a document.
type documentCost struct {
	status      int
	answer      []byte // the beginning of the response
	answerBytes int
	allocated   uint64 // bytes
	cpu         uint64 // nanoseconds
}

// measureDocument runs a document and returns what it cost.
func (d *fixture) measureDocument(t *testing.T, as, document string) (cost documentCost) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": document})
	require.NoError(t, err)
	out := &measuredAnswer{header: http.Header{}}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", strings.NewReader(string(body)))
	request.Header = http.Header{"Authorization": {as}, "Content-Type": {jsonType}, "Accept": {responseType}}
	allocated, cpu := allocatedBytes(), processTime()
	d.ServeHTTP(out, request)
	cost.cpu, cost.allocated = processTime()-cpu, allocatedBytes()-allocated
	cost.status, cost.answerBytes, cost.answer = out.status, out.bytes, out.head
	return cost
}

// limit is the number of bytes that a document with this outcome may allocate.
func (c documentCost) limit() uint64 {
	switch answer := string(c.answer); {
	case c.status == http.StatusOK, c.isStopped():
		return maxAllocated
	case strings.Contains(answer, `"query_too_costly"`), strings.Contains(answer, `"body_too_large"`):
		return maxAllocatedRefused
	default:
		return 0
	}
}

// isStopped reports whether the document was stopped while it ran.
func (c documentCost) isStopped() bool { return strings.Contains(string(c.answer), "are too large") }

// measuredAnswer counts the bytes of an answer and keeps its beginning.
type measuredAnswer struct {
	header        http.Header
	status, bytes int
	head          []byte
}

// Header implements http.ResponseWriter.
func (a *measuredAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *measuredAnswer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *measuredAnswer) Write(text []byte) (int, error) {
	a.bytes += len(text)
	a.head = append(a.head, text[:min(len(text), max(0, 600-len(a.head)))]...)
	return len(text), nil
}

func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// processTime is the CPU time that the process has used, in nanoseconds.
func processTime() uint64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return uint64(usage.Utime.Nano() + usage.Stime.Nano())
}

// selection selects the fields of a type, and those of related records to the given depth.
func selection(s *ast.Schema, of *ast.Definition, levels int) string {
	var all strings.Builder
	for _, field := range of.Fields {
		to := s.Types[field.Type.Name()]
		switch {
		case strings.HasPrefix(field.Name, "__") || requiredArguments(field):
		case !to.IsCompositeType():
			all.WriteString(field.Name + " ")
		case levels == 0 || to.IsAbstractType():
		case strings.HasSuffix(to.Name, "Connection"):
			fmt.Fprintf(&all, "%s(first: 5) { totalCount nodes { %s } } ", field.Name, selection(s, s.Types[to.Fields.ForName("nodes").Type.Name()], levels-1))
		default:
			if below := selection(s, to, levels-1); below != "" {
				fmt.Fprintf(&all, "%s { %s } ", field.Name, below)
			}
		}
	}
	return all.String()
}

// aliases selects a field n times.
func aliases(n int, field string) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "a%d: %s ", i, field)
	}
	return "{ " + all.String() + "}"
}

// rootFields selects each root field, with what is below it at several depths, by name.
func rootFields(s *ast.Schema) map[string]string {
	all := map[string]string{}
	for _, field := range s.Query.Fields {
		to := s.Types[field.Type.Name()]
		if strings.HasPrefix(field.Name, "__") || requiredArguments(field) {
			continue
		}
		if strings.HasSuffix(to.Name, "Connection") {
			node := s.Types[to.Fields.ForName("nodes").Type.Name()]
			all[field.Name+", ids"] = field.Name + "(first: 100) { nodes { __typename " + firstLeaf(s, node) + " } }"
			all[field.Name+", counted"] = field.Name + "(first: 1) { totalCount }"
			for levels := range 3 {
				all[fmt.Sprintf("%s, %d levels", field.Name, levels)] = field.Name + "(first: 100) { nodes { " + selection(s, node, levels) + "} }"
			}
			continue
		}
		for levels := 1; levels < 3; levels++ {
			all[fmt.Sprintf("%s, %d levels", field.Name, levels)] = field.Name + " { " + selection(s, to, levels) + "}"
		}
	}
	return all
}

func firstLeaf(s *ast.Schema, of *ast.Definition) string {
	return of.Fields[slices.IndexFunc(of.Fields, func(f *ast.FieldDefinition) bool { return !s.Types[f.Type.Name()].IsCompositeType() })].Name
}

// onPolicies selects fields of a hundred policies.
func onPolicies(fields string) string {
	return "{ policies(first: 100) { nodes { " + fields + " } } }"
}

// introspectionDocument is the introspection query of graphql-js with every option on.
func introspectionDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/introspection.graphql")
	require.NoError(t, err)
	return string(text)
}

// hostileDocuments are documents that select more than their size suggests.
func hostileDocuments(t *testing.T, d *fixture) map[string]string {
	t.Helper()
	var claims, quotes, policies []string
	for _, at := range []struct {
		field string
		ids   *[]string
	}{{"claims", &claims}, {"quotes", &quotes}, {"policies", &policies}} {
		for _, node := range dig(t, d.queryData(t, "{ "+at.field+"(first: 100) { nodes { id } } }", nil), at.field, "nodes").([]any) {
			*at.ids = append(*at.ids, `"`+node.(map[string]any)["id"].(string)+`"`)
		}
	}
	all := map[string]string{
		"introspection, whole":              introspectionDocument(t),
		"introspection, fields":             "{ __schema { types { name fields { name description args { name type { name ofType { name } } } type { name ofType { name ofType { name } } } } } } }",
		"introspection, input types":        "{ __schema { types { inputFields { name description type { name inputFields { name type { name } } } } } } }",
		"introspection, in depth":           "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }",
		"introspection, one type":           `{ __type(name: "Query") { fields { name description args { name } } } }`,
		"nodes, claims":                     "{ nodes(ids: [" + strings.Join(claims, " ") + "]) { ... on Claim { id description metadata messages(first: 100) { nodes { body } } } } }",
		"nodes, quotes":                     "{ nodes(ids: [" + strings.Join(quotes, " ") + "]) { ... on Quote { id metadata context history { occurredAt payout { amount } } } } }",
		"faulty arguments in each record":   onPolicies(strings.Trim(aliases(10, `claims(first: 0, after: "\\u0000") { nodes { id } }`), "{}")),
		"errors in each record":             onPolicies(strings.Trim(aliases(45, `claims(first: 1, after: "x") { nodes { id } }`), "{}")),
		"long texts with an error":          onPolicies(strings.Trim(aliases(90, "metadata"), "{}") + ` claims(first: 1, after: "x") { nodes { id } }`),
		"scalars with an error":             onPolicies(`claims(first: 10) { nodes { ` + strings.Trim(aliases(80, "status"), "{}") + ` messages(first: 1, after: "x") { nodes { id } } } }`),
		"scalars of nodes":                  "{ nodes(ids: [" + strings.Join(claims, " ") + "]) { ... on Claim { " + strings.Trim(aliases(97, "status"), "{}") + "} } }",
		"lists of nodes":                    "{ nodes(ids: [" + strings.Join(policies, " ") + "]) { ... on Policy { claims(first: 20) { nodes { " + strings.Trim(aliases(90, "status"), "{}") + "} } } } }",
		"long texts of one record":          "{ policies(first: 1) { nodes { " + strings.Trim(aliases(90, "metadata"), "{}") + "} } }",
		"messages of many claims":           aliases(40, "claims(first: 100) { nodes { description } }"),
		"statements":                        aliases(3, "statement { csv }"),
		"exposures":                         aliases(3, fmt.Sprintf(supposed, 100)[1:]+"policyId"+strings.Repeat(" }", 3)),
		"a field that fails in each record": `{ policies(first: 100) { nodes { id status partner createdAt claims(first: 10) { nodes { id status messages(first: 5, after: "x") { nodes { id } } } } } } }`,
		"fragments":                         "{ policies(first: 100) { nodes { ...a ...b } } } fragment a on Policy { ...b claims(first: 5) { nodes { ...c } } } fragment b on Policy { id cover { limit { amount } } claims(first: 5) { nodes { ...c } } } fragment c on Claim { id description timeline(first: 5) { nodes { data } } }",
		"messages":                          "{ claims(first: 100) { nodes { messages(first: 10) { nodes { body } } } } }",
		"timelines":                         "{ policies(first: 100) { nodes { claims(first: 10) { nodes { timeline(first: 8) { nodes { id sequence summary data } } } } } } }",
		"dashboard":                         strings.NewReplacer("query Dashboard($n: Int!) ", "", "$n", "100").Replace(dashboard),
		"history":                           "{ quotes(first: 100) { nodes { history { occurredAt source sourceEventId distanceKm factor payout { amount currency } } } } }",
		"exposure":                          fmt.Sprintf(supposed, 100) + "policyId sentences reasons" + strings.Repeat(" }", 4),
	}
	return all
}

// costCorpus returns all documents by name.
func (d *fixture) costCorpus(t *testing.T) map[string]string {
	t.Helper()
	documents := hostileDocuments(t, d)
	for name, field := range rootFields(loadCommittedSchema(t)) {
		documents[name] = "{ " + field + " }"
		for _, n := range []int{5, 20, 90} {
			documents[fmt.Sprintf("%s, %d times", name, n)] = aliases(n, field)
		}
	}
	for _, n := range []int{10, 25, 90} {
		documents[fmt.Sprintf("introspection, %d times", n)] = aliases(n, "__schema { types { name kind description fields { name description type { name kind ofType { name kind ofType { name } } } } } }")
		documents[fmt.Sprintf("whole introspection, %d times", n)] = aliases(n, "__schema { types { ...FullType } }") + fragmentsOf(introspectionDocument(t))
	}
	return documents
}

// fragmentsOf returns the fragments at the end of a document.
func fragmentsOf(document string) string { return document[strings.Index(document, "\nfragment "):] }

// raceDetector is set in a binary with the race detector.
var raceDetector bool

// TestNoDocumentAllocatesMoreThan16MiB does not run in parallel, because it measures
// what the process allocates. CPU time is printed only: it depends on the machine.
func TestNoDocumentAllocatesMoreThan16MiB(t *testing.T) { //nolint:paralleltest // see above
	if raceDetector {
		t.Skip("the race detector allocates, too")
	}
	d := newFixture(t, modeltest.WithoutChecks())
	d.fillLarge(t)
	documents := d.costCorpus(t)
	allowed, stopped := 0, 0
	var wrong []string
	t.Logf("%-44s %6s %9s %10s %8s", "document", "status", "answer", "allocated", "cpu")
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		as := "acme"
		got := d.measureDocument(t, as, documents[name])
		if strings.Contains(string(got.answer), "insufficient_scope") {
			as = "operator"
			got = d.measureDocument(t, as, documents[name])
		}
		for range 4 { // the first document of a kind fills caches, and jobs allocate meanwhile
			if got.allocated > got.limit() {
				got = d.measureDocument(t, as, documents[name])
			}
		}
		t.Logf("%-44s %6d %7dKB %8dKB %8v %s", name, got.status, got.answerBytes>>10, got.allocated>>10,
			time.Duration(got.cpu).Round(100*time.Microsecond), firstError(string(got.answer)))
		switch {
		case got.status == http.StatusOK:
			allowed++
		case got.isStopped():
			stopped++
		}
		if got.answerBytes > maxAnswer || got.allocated > got.limit() {
			wrong = append(wrong, fmt.Sprintf("%s: %d, %d KB", name, got.status, got.allocated>>10))
		}
	}
	t.Logf("%d documents: %d answered, %d stopped while they ran, %d refused", len(documents), allowed, stopped, len(documents)-allowed-stopped)
	require.Empty(t, wrong, "documents that allocate too much, or are refused for another reason")
	require.Greater(t, allowed, 100)
	require.Positive(t, stopped)
	require.Greater(t, len(documents)-allowed-stopped, 100)
}

func firstError(answer string) string {
	if !strings.HasPrefix(answer, `{"errors"`) {
		return ""
	}
	return answer[:min(110, len(answer))]
}
