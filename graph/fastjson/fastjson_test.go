package fastjson_test

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"parapet/graph/budget"
	"parapet/graph/fastjson"
	"parapet/internal/errormap"
	"parapet/model/kernel/apperr"
)

const schemaText = `
	scalar DateTime scalar Decimal scalar Long
	enum Kind { BIG }
	interface Named { name: String! }
	type Query { owner: Owner owners: [Owner!] }
	type Mutation { change: Owner }
	type Owner implements Named {
		name: String! kind: Kind! born: DateTime! share: Decimal! worth: Long! nick: String grown: Boolean! size: Float!
		pets(first: Int!, called: String): [Pet!]! friend: Owner broken: String odd: Named
	}
	type Pet { name: String! }`

type base struct{ Name string }

type owner struct {
	base

	Kind   string
	Born   time.Time
	Share  string
	Worth  int64
	Nick   *string
	Size   float64
	friend *owner
}

func (o *owner) Grown() bool                            { return o.Worth > 0 }
func (o *owner) Friend() *owner                         { return o.friend }
func (o *owner) Odd() any                               { return o }
func (o *owner) Broken(context.Context) (string, error) { return "", errors.New("broken") }
func (o *owner) Pets(_ context.Context, first int, called *string) ([]pet, error) {
	pets := make([]pet, first)
	for i := range pets {
		pets[i].Name = "pet of " + o.Name
		if called != nil {
			pets[i].Name = *called
		}
	}
	return pets, nil
}

type pet struct{ Name string }

// encodeQuery writes what a resolver returned for the one field of a query; empty when that
// is left to the library.
func encodeQuery(t *testing.T, document string, variables map[string]any, result any) string {
	t.Helper()
	got, err := encodeQueryWith(t.Context(), t, document, variables, result)
	require.NoError(t, err)
	written, ok := got.(graphql.Marshaler)
	if !ok {
		require.Equal(t, result, got, "the library goes on with what was resolved")
		return ""
	}
	var out strings.Builder
	written.MarshalGQL(&out)
	return out.String()
}

// encodeQueryWith is encodeQuery under a context; it returns what the library gets.
func encodeQueryWith(ctx context.Context, t *testing.T, document string, variables map[string]any, result any) (any, error) {
	t.Helper()
	return writeRoot(ctx, t, schemaText, document, variables, result)
}

// writeRoot writes the result of the only root field of an operation on a schema.
func writeRoot(ctx context.Context, t require.TestingT, source, document string, variables map[string]any, result any) (any, error) {
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: source})
	parsed, refused := gqlparser.LoadQueryWithRules(schema, document, rules.NewDefaultRules())
	require.Empty(t, refused)
	operation := &graphql.OperationContext{Variables: variables, Operation: parsed.Operations[0], Doc: parsed}
	object := map[ast.Operation]string{ast.Query: "Query", ast.Mutation: "Mutation"}[operation.Operation.Operation]
	fields := graphql.CollectFields(operation, parsed.Operations[0].SelectionSet, []string{object})
	ctx = graphql.WithFieldContext(graphql.WithOperationContext(ctx, operation), &graphql.FieldContext{Object: object, Field: fields[0]})
	return fastjson.New(schema, nil).AroundField(ctx, func(context.Context) (any, error) { return result, nil })
}

func newOwner() *owner {
	return &owner{
		base: base{`Mei "M" Lin`}, Kind: "big", Born: time.Date(2018, 2, 6, 15, 50, 42, 6e8, time.UTC), Share: "0.10", Worth: 1 << 60, Size: 1.5,
		friend: &owner{base: base{"Bo"}},
	}
}

func TestPlainRecordsAreWritten(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"called":"Mei \"M\" Lin","kind":"BIG","born":"2018-02-06T15:50:42.600000Z","share":"0.10","worth":1152921504606846976,"nick":null,"grown":true,"size":1.5,"__typename":"Owner"}`,
		encodeQuery(t, `{ owner { called: name kind born share worth nick grown size __typename } }`, nil, newOwner()))
	require.JSONEq(t, `{"pets":[{"name":"Rex"},{"name":"Rex"}],"friend":{"name":"Bo","friend":null}}`,
		encodeQuery(t, `query($n: Int!, $no: Boolean!) { owner { pets(first: $n, called: "Rex") { name } ...f nick @include(if: $no) } } fragment f on Named { ... on Owner { friend { name friend { name } } } }`,
			map[string]any{"n": 2, "no": false}, newOwner()))
	require.JSONEq(t, `[{"name":"Mei \"M\" Lin"}]`, encodeQuery(t, `{ owners { name } }`, nil, []*owner{newOwner()}))
	require.Equal(t, `null`, encodeQuery(t, `{ owners { name } }`, nil, []*owner(nil)))
}

// The buffer of a result serves the next request once it is written.
func TestResultIsWrittenOnce(t *testing.T) {
	t.Parallel()
	got, err := encodeQueryWith(t.Context(), t, `{ owner { name } }`, nil, newOwner())
	require.NoError(t, err)
	written := got.(graphql.Marshaler)
	written.MarshalGQL(io.Discard)
	require.Panics(t, func() { written.MarshalGQL(io.Discard) })
}

func TestUnsupportedRecordsFallBackToGqlgen(t *testing.T) {
	t.Parallel()
	require.Empty(t, encodeQuery(t, `{ owner { name broken } }`, nil, newOwner()), "an error")
	require.Empty(t, encodeQuery(t, `{ owner { odd { name } } }`, nil, newOwner()), "an interface")
	require.Empty(t, encodeQuery(t, `{ owner { pets(first: -1) { name } } }`, nil, newOwner()), "a panic")
	require.Empty(t, encodeQuery(t, `{ owners { name } }`, nil, []*owner{nil}), "a null that may not be")
	require.Empty(t, encodeQuery(t, `{ owner { name } }`, nil, struct{ Other string }{}), "a field without a member")
	require.Empty(t, encodeQuery(t, `{ owner { name } }`, nil, &owner{base: base{"half of a \xc3"}}), "text that is no UTF-8")
	for _, size := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		require.Empty(t, encodeQuery(t, `{ owner { size } }`, nil, &owner{Size: size}), "%v, which JSON does not have", size)
	}
}

// countingOwner calls a function for its name.
type countingOwner func()

func (n countingOwner) Name() string { n(); return "Mei Lin" }

func TestWritingStopsWhenTheBudgetIsExceeded(t *testing.T) {
	t.Parallel()
	written := 0
	owner := struct{ countingOwner }{func() { written++ }}
	owners := slices.Repeat([]*struct{ countingOwner }{&owner}, 1000)
	_, err := encodeQueryWith(budget.With(t.Context(), budget.New(10<<10)), t, `{ owners { name } }`, nil, owners)
	require.Equal(t, errormap.CodeQueryTooCostly, apperr.CodeOf(err))
	require.Less(t, written, 200)

	aliased := "{ owner { " + strings.Repeat("n", 1<<15) + ": name more: name } }"
	written = 0
	_, err = encodeQueryWith(budget.With(t.Context(), budget.New(10<<10)), t, aliased, nil, &owner)
	require.Equal(t, errormap.CodeQueryTooCostly, apperr.CodeOf(err))
	require.Equal(t, 1, written, "within one long record, too")
}

func TestWritingStopsWhenTheCallerLeaves(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	written := 0
	owner := struct{ countingOwner }{func() {
		if written++; written == 3 {
			leave()
		}
	}}
	_, err := encodeQueryWith(ctx, t, `{ owners { name } }`, nil, slices.Repeat([]*struct{ countingOwner }{&owner}, 1000))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, written)
}

func TestMutationWhoseAnswerIsTooLargeIsNotDenied(t *testing.T) {
	t.Parallel()
	_, err := encodeQueryWith(budget.With(t.Context(), budget.New(10)), t, `mutation { change { name } }`, nil, newOwner())
	require.Equal(t, errormap.CodeQueryTooCostly, apperr.CodeOf(err))
	require.ErrorContains(t, err, "was carried out")
}
