package guard_test

import (
	_ "embed"
	"runtime"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"parapet/graph/guard"
	"parapet/model/kernel/apperr"
)

//go:embed testdata/schema.graphqls
var schemaText string

func standardGuard() *guard.Guard {
	return guard.New(gqlparser.MustLoadSchema(&ast.Source{Input: schemaText}), guard.Standard())
}

// readAndValidate runs every check that can reject a document before its validation.
func readAndValidate(g *guard.Guard, text string) error {
	document, err := g.Read(text)
	if err == nil {
		_, err = document.Cost("", nil)
	}
	return err
}

// loadWholeSchema runs everything that happens to a document before a resolver.
func loadWholeSchema(t testing.TB, g *guard.Guard, text string) gqlerror.List {
	t.Helper()
	document, err := g.Read(text)
	require.NoError(t, err)
	_, _ = document.Cost("", nil)
	return document.Validate(true)
}

// maxMemory is the contract's bound of a refused document, in bytes.
const maxMemory = 10 << 20

// measureUsage returns the memory of a call: the minimum of several, because other tests
// allocate meanwhile.
func measureUsage(call func()) (bytes uint64, took time.Duration) {
	bytes, took = ^uint64(0), time.Hour
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		call()
		took = min(took, time.Since(began))
		runtime.ReadMemStats(&after)
		bytes = min(bytes, after.TotalAlloc-before.TotalAlloc)
	}
	return bytes, took
}

func TestRefusedDocumentsCostLittle(t *testing.T) {
	t.Parallel()
	g := guard.New(servedLists(t), guard.Standard())
	require.Len(t, doublingFragments(22), 971, "so few bytes stand for four million fields")
	t.Logf("%-40s %9s %7s %7s %7s %9s %9s", "document", "bytes", "tokens", "fields", "merges", "memory", "time")
	for _, a := range refusedDocuments() {
		require.Equal(t, a.code, apperr.CodeOf(readAndValidate(g, a.text)), a.name)
		work := g.Work(a.text)
		require.LessOrEqual(t, work.Tokens, guard.Standard().Tokens+1, a.name)
		require.LessOrEqual(t, work.Fields, guard.Standard().Fields+1, a.name)
		memory, took := measureUsage(func() { _ = readAndValidate(g, a.text) })
		require.LessOrEqual(t, memory, uint64(maxMemory), a.name)
		t.Logf("%-40s %9d %7d %7d %7d %7dKB %9v", a.name, len(a.text), work.Tokens, work.Fields, work.Merges, memory>>10, took)
	}
}

func TestAcceptedDocumentsValidateCheaply(t *testing.T) {
	t.Parallel()
	g := guard.New(servedLists(t), guard.Standard())
	t.Logf("%-40s %9s %7s %7s %7s %9s %9s", "document", "bytes", "tokens", "fields", "merges", "memory", "time")
	for _, a := range acceptedDocuments() {
		_, err := g.Read(a.text)
		require.NoError(t, err, a.name)
		work := g.Work(a.text)
		memory, took := measureUsage(func() { _ = loadWholeSchema(t, g, a.text) })
		require.LessOrEqual(t, memory, uint64(maxMemory), a.name)
		t.Logf("%-40s %9d %7d %7d %7d %7dKB %9v", a.name, len(a.text), work.Tokens, work.Fields, work.Merges, memory>>10, took)
	}
}

func TestCostIsWhatResolversCanReturn(t *testing.T) {
	t.Parallel()
	g := standardGuard()
	for text, want := range map[string]int{
		"{__typename}":                                0,
		"{viewer{partner scopes}}":                    1,
		"{policies{totalCount}}":                      1 + 500,
		"{policies{nodes{id}}}":                       1 + 25*2,
		"{policies(first:3){nodes{id}}}":              1 + 3*2,
		"{policies(last:3){nodes{id}}}":               1 + 3*2,
		"{policies(first:null){nodes{id}}}":           1 + 25*2,
		"{policies(first:0){nodes{id}}}":              1,
		"{policies(first:-1){nodes{id}}}":             1 + 100*2,
		"{policies(first:101){nodes{id}}}":            1 + 100*2,
		"{policies(first:1e3){nodes{id}}}":            1 + 100*2,
		"{products{nodes{key}}}":                      1 + 10*10,
		"{a:viewer{partner} b:viewer{partner}}":       2,
		"{nodes(ids:[1,2,3]){id}}":                    3,
		"{nodes(ids:1){id}}":                          1,
		"{node(id:1){...on Policy{premium{amount}}}}": 1,
		"{policies(first:2){edges{cursor node{premium{amount}}} nodes{id} pageInfo{endCursor}}}":                                          1 + 2*2 + 2*2,
		"{policies(first:2){nodes{claims(first:3){nodes{payouts{amount{amount}}}}}}}":                                                     1 + 2*(2+1+3*(2+20)),
		"{policies(first:2){...A}} fragment A on PolicyConnection{nodes{...B}} fragment B on Policy{claims(first:1){nodes{payouts{id}}}}": 1 + 2*(2+1+2+20),
		"mutation{openClaim(input:{policyId:1}){claim{id}}}":                                                                              500 + 2,
		"{__schema{types{name}}}":    8,
		"{__type(name:\"A\"){name}}": 1,
		"{nothing{unknown}}":         0,
		"query a{viewer{partner}}":   1,
	} {
		document, err := g.Read(text)
		require.NoError(t, err, text)
		cost, err := document.Cost("", nil)
		require.NoError(t, err, text)
		require.Equal(t, want, cost, text)
	}
}

func TestCostReadsVariables(t *testing.T) {
	t.Parallel()
	g := standardGuard()
	document, err := g.Read("query q($n:Int, $d:Int=7, $ids:[ID!]){policies(first:$n){nodes{id}} products(first:$d){nodes{key}} nodes(ids:$ids){id}}")
	require.NoError(t, err)
	for _, c := range []struct {
		variables map[string]any
		want      int
	}{
		{nil, 1 + 25*2 + 1 + 7*10 + 100},
		{map[string]any{"n": nil, "d": nil}, 1 + 25*2 + 1 + 10*10 + 100},
		{map[string]any{"n": int64(2), "d": float64(3), "ids": []any{"1", "2"}}, 1 + 2*2 + 1 + 3*10 + 2},
		{map[string]any{"n": "2", "d": true, "ids": "1"}, 1 + 100*2 + 1 + 100*10 + 1},
	} {
		cost, err := document.Cost("q", c.variables)
		require.NoError(t, err)
		require.Equal(t, c.want, cost, c.variables)
	}
	defaulted, err := g.Read(`query($ids:[ID!]!=["a","b","c"]){nodes(ids:$ids){id}}`)
	require.NoError(t, err)
	cost, err := defaulted.Cost("", nil)
	require.NoError(t, err)
	require.Equal(t, 3, cost)
	_, err = document.Cost("other", nil)
	require.Equal(t, apperr.CodeValidationFailed, apperr.CodeOf(err))
}

func TestValidationSuggestsNames(t *testing.T) {
	t.Parallel()
	document, err := standardGuard().Read("{viewer{partners}}")
	require.NoError(t, err)
	require.Contains(t, document.Validate(true).Error(), `Did you mean "partner"?`)
	require.NotContains(t, document.Validate(false).Error(), "Did you mean")
	document, err = standardGuard().Read("{" + repeatFormatted(500, "x%d ") + "}")
	require.NoError(t, err)
	require.Len(t, document.Validate(true), 10)
}

func TestStringsRoundTrip(t *testing.T) {
	t.Parallel()
	g := standardGuard()
	for literal, want := range map[string]string{
		`"\ud83d\uDE00"`:            "😀",
		`"a\"\ud83d\ude00\u00e9\\"`: "a\"😀é\\",
		`"\\ud83d"`:                 `\ud83d`,
		`"""\ud83d \""" \udE00"""`:  `\ud83d """ \udE00`,
		`"😀" # \ud83d`:              "😀",
		`"# \ud83d\ude00"`:          "# 😀",
		`"\ufffd"`:                  "\uFFFD",
	} {
		document, err := g.Read("{policy(id:" + literal + "\n){id}}")
		require.NoError(t, err, literal)
		require.Equal(t, want, document.Operations[0].SelectionSet[0].(*ast.Field).Arguments[0].Value.Raw, literal)
	}
	for _, literal := range []string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\u0041"`, `"\ud83d`, `"\ud83d\`, `"\ud83d\ude0`, `"\ud8`} {
		_, err := g.Read("{policy(id:" + literal + "){id}}")
		require.Equal(t, apperr.CodeValidationFailed, apperr.CodeOf(err), literal)
	}
}

// For any text, the guard answers within its limits, and an accepted document has a cost
// and can be validated.
func FuzzRead(f *testing.F) {
	for _, a := range append(refusedDocuments(), acceptedDocuments()...) {
		if len(a.text) <= 4<<10 {
			f.Add(a.text)
		}
	}
	limits := guard.Standard()
	g := guard.New(servedLists(f), limits)
	f.Fuzz(func(t *testing.T, text string) {
		work := g.Work(text)
		require.LessOrEqual(t, work.Tokens, limits.Tokens+1)
		require.LessOrEqual(t, work.Fields, limits.Fields+1)
		document, err := g.Read(text)
		if err != nil {
			require.NotEqual(t, apperr.CodeInternal, apperr.CodeOf(err))
			return
		}
		require.True(t, utf8.ValidString(text))
		for _, operation := range document.Operations {
			cost, err := document.Cost(operation.Name, map[string]any{"a": "b"})
			require.GreaterOrEqual(t, cost, 0)
			require.NotEqual(t, apperr.CodeInternal, codeOr(err))
		}
		_ = document.Validate(true)
	})
}

// codeOr is the code of an error, empty without one.
func codeOr(err error) apperr.Code {
	if err == nil {
		return ""
	}
	return apperr.CodeOf(err)
}

// One round is the whole corpus of refused documents.
func BenchmarkRefuse(b *testing.B) {
	g, all := guard.New(servedLists(b), guard.Standard()), refusedDocuments()
	b.ReportAllocs()
	for b.Loop() {
		for _, a := range all {
			_ = readAndValidate(g, a.text)
		}
	}
	b.ReportMetric(float64(len(all)), "documents")
}

// One round validates every document of the largest.
func BenchmarkValidate(b *testing.B) {
	g, all := guard.New(servedLists(b), guard.Standard()), acceptedDocuments()
	b.ReportAllocs()
	for b.Loop() {
		for _, a := range all {
			_ = loadWholeSchema(b, g, a.text)
		}
	}
	b.ReportMetric(float64(len(all)), "documents")
}

// The rule of gqlparser accepts an Int literal of any length.
func TestIntLiteralsHave32Bits(t *testing.T) {
	t.Parallel()
	g := standardGuard()
	for document, accepted := range map[string]bool{
		`{ policies(first: 2147483647) { totalCount } }`:                                                              true,
		`{ policies(first: -2147483648) { totalCount } }`:                                                             true,
		`{ policies(first: 2147483648) { totalCount } }`:                                                              false,
		`{ policies(first: -2147483649) { totalCount } }`:                                                             false,
		`{ policies(first: 9223372036854775808) { totalCount } }`:                                                     false,
		`query($n: Int = 2147483648) { policies(first: $n) { totalCount } }`:                                          false,
		`{ policies { ...f } } fragment f on PolicyConnection { nodes { claims(first: 2147483648) { totalCount } } }`: false,
	} {
		read, err := g.Read(document)
		require.NoError(t, err)
		for _, suggest := range []bool{true, false} {
			refusals := read.Validate(suggest)
			require.Equal(t, accepted, len(refusals) == 0, "%s: %v", document, refusals)
			for _, refusal := range refusals {
				require.Equal(t, apperr.CodeValidationFailed, apperr.CodeOf(refusal))
				require.NotEmpty(t, refusal.Locations)
			}
		}
	}
}
