package graph_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
)

// nulls has null for every optional member of an input.
func nulls(s *ast.Schema, of *ast.Type) any {
	def := s.Types[of.Name()]
	if def.Kind != ast.InputObject {
		return nil
	}
	all := map[string]any{}
	for _, field := range def.Fields {
		if field.Type.NonNull && field.DefaultValue != nil {
			continue
		}
		if field.Type.NonNull {
			return nil
		}
		all[field.Name] = nil
	}
	return all
}

// Generated clients send null for members that their program leaves out.
func TestNullEqualsAbsent(t *testing.T) {
	t.Parallel()
	d, s := newFixture(t), loadCommittedSchema(t)
	d.QuoteAndBind("quake-circle", nil)
	asked := 0
	for _, field := range s.Query.Fields {
		filter := field.Arguments.ForName("filter")
		if filter == nil || field.Name == "jobs" { // these tests have no job queue to show
			continue
		}
		who := "acme"
		if strings.Contains(field.Description, "Scope operator") {
			who = "operator"
		}
		asked++
		variables, names, uses := map[string]any{}, []string{}, []string{}
		for _, argument := range field.Arguments {
			variables[argument.Name] = nulls(s, argument.Type)
			names = append(names, "$"+argument.Name+": "+argument.Type.String())
			uses = append(uses, argument.Name+": $"+argument.Name)
		}
		document := "query(" + strings.Join(names, ", ") + ") { " + field.Name + "(" + strings.Join(uses, ", ") + ") { totalCount } }"
		if all, _ := variables["filter"].(map[string]any); len(all) == 0 {
			delete(variables, "filter") // all its members have defaults, which null is not
		}
		all := d.queryDataAs(t, who, "{ "+field.Name+" { totalCount } }", nil)
		require.Equal(t, all, d.queryDataAs(t, who, document, variables), field.Name)
	}
	require.Greater(t, asked, 8)
}

func TestNullListElementsAreRejected(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.QuoteAndBind("quake-circle", nil)
	quake := map[string]any{"id": nil, "sourceEvent": nil, "whatIf": map[string]any{
		"earthquake": map[string]any{"location": map[string]any{"latitude": 0, "longitude": 0}, "magnitude": "5.5", "depthKm": nil, "at": nil}, "storm": nil, "rain": nil,
	}}
	explained := d.queryData(t, `query($id: ID!, $of: OccurrenceRefInput!) { explain(policyId: $id, occurrence: $of) { met } }`, map[string]any{"id": policy.ID, "of": quake})
	require.Equal(t, map[string]any{"explain": map[string]any{"met": false}}, explained)

	claim := map[string]any{"policyId": policy.ID, "origin": nil, "observationId": nil, "sourceEvent": nil, "occurredAt": nil, "description": nil, "requestedAmount": nil}
	opened := d.queryData(t, `mutation($in: OpenClaimInput!) { openClaim(input: $in) { claim { origin description } } }`, map[string]any{"in": claim})
	require.Equal(t, map[string]any{"openClaim": map[string]any{"claim": map[string]any{"origin": "APPROVAL", "description": nil}}}, opened)
}

// If null counted as false, the mutation would change what it should only count.
func TestNullBooleanIsRejected(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	dry := `mutation($d: Boolean = true) { cancelJobs(input: {filter: {kind: "sweep"}, reason: "r", dryRun: $d}) { changed } }`
	require.Equal(t, "validation_failed", d.send(t, graphqlRequest{as: "operator", document: dry, variables: map[string]any{"d": nil}}).errorCode())
	d.queryData(t, `query($d: Boolean) { __type(name: "Job") { kind name fields(includeDeprecated: $d) { name } } }`, nil)
}

// The schema allows a nullable variable where an argument has a default value.
func TestNullVariableIsRejectedWhereNullIsNotAllowed(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for document, pointer := range map[string]string{
		`mutation($x: String) { reconcile(input: {rail: "bank", name: "r1", lineCount: 1, sums: [], lines: [{reference: $x, amount: {amount: 1, currency: "USD"}, status: SETTLED, at: "2024-01-01T00:00:00Z"}]}) { reportId } }`: "/input/lines/0/reference",
		`query($x: [BookDimension!]) { portfolio { book(by: $x) { lines { currency } } } }`: "/by",
	} {
		out := d.send(t, graphqlRequest{as: "operator", document: document, variables: map[string]any{"x": nil}})
		require.Equal(t, "validation_failed", out.errorCode(), out.body)
		require.NotEmpty(t, out.Errors[0].Extensions.Errors, out.body)
		require.Equal(t, pointer, out.Errors[0].Extensions.Errors[0].Pointer, out.body)
		require.Equal(t, "null", out.Errors[0].Extensions.Errors[0].Code)
	}
}
