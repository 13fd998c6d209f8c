package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/kernel/apperr"
)

func TestAllVariableErrorsAreReportedTogether(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	document := `query($f: QuoteFilter, $n: Int, $ids: [ID!]!, $of: WhatIfInput = {}) { quotes(filter: $f, first: $n) { totalCount } nodes(ids: $ids) { id } exposure(occurrence: $of) { __typename } }`
	ids := func(more map[string]any) map[string]any {
		all := map[string]any{"ids": []string{}}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	for pointer, c := range map[string]struct {
		variables map[string]any
		code      string
	}{
		"/variables/ids":           {map[string]any{}, "required"},
		"/variables/ids/0":         {map[string]any{"ids": []any{nil}}, "null"},
		"/variables/n":             {ids(map[string]any{"n": "5"}), "type"},
		"/variables/f":             {ids(map[string]any{"f": "x"}), "type"},
		"/variables/f/status":      {ids(map[string]any{"f": map[string]any{"status": "bound"}}), "enum"},
		"/variables/f/product":     {ids(map[string]any{"f": map[string]any{"product": 7}}), "type"},
		"/variables/f/a~1b":        {ids(map[string]any{"f": map[string]any{"a/b": 7}}), "unknown_field"},
		"/variables/of/earthquake": {ids(map[string]any{"of": map[string]any{"earthquake": []int{1}}}), "type"},
		"/variables/of/storm/fixes/1/location/latitude": {ids(map[string]any{"of": map[string]any{"storm": map[string]any{"fixes": []any{
			map[string]any{"location": map[string]any{"latitude": 1.5, "longitude": 2}, "windKn": "60"},
			map[string]any{"location": map[string]any{"longitude": 2}, "windKn": "60"},
		}}}}), "required"},
	} {
		out := d.send(t, graphqlRequest{document: document, variables: c.variables})
		require.Equal(t, "validation_failed", out.errorCode(), pointer)
		require.Empty(t, out.Data, "nothing has run")
		require.Nil(t, out.Errors[0].Path, "nothing in the answer is wrong")
		require.Len(t, out.Errors[0].Extensions.Errors, 1, out.body)
		require.Equal(t, []string{pointer, c.code}, []string{out.Errors[0].Extensions.Errors[0].Pointer, out.Errors[0].Extensions.Errors[0].Code})
		require.Contains(t, out.Errors[0].Message, "The variable $"+strings.ReplaceAll(pointer[len("/variables/"):], "/", "."))
	}
	long := d.send(t, graphqlRequest{document: document, variables: ids(map[string]any{"f": map[string]any{strings.Repeat("x", 1000): 7}})})
	require.Equal(t, "/variables/f", long.Errors[0].Extensions.Errors[0].Pointer, "a name of any length is not repeated")
	several := d.send(t, graphqlRequest{document: document, variables: map[string]any{"n": 1.5, "f": map[string]any{"status": 1, "nothing": 2}}})
	require.Len(t, several.Errors[0].Extensions.Errors, 4, several.body)
	require.Equal(t, "4 variables or members of them are not right; see errors.", several.Errors[0].Message)
	require.Empty(t, d.send(t, graphqlRequest{document: `query($ids: [ID!]!) { nodes(ids: $ids) { id } }`, variables: map[string]any{"ids": "pol_1"}}).Errors, "one stands for a list of one")
}

func TestMoneyGivenAsANumberSaysHowToWriteIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const want = `Give an object of minor units and a currency: {"amount": 1250, "currency": "USD"} for 12.50 USD.`
	document := `mutation($in: OpenClaimInput!) { openClaim(input: $in) { claim { id } } }`
	for _, given := range []any{12.5, 1250, "12.50 USD", []int{1250}} {
		out := d.send(t, graphqlRequest{document: document, variables: map[string]any{"in": map[string]any{"policyId": "pol_01h455vb4pex5vsknk084sn02q", "requestedAmount": given}}})
		require.Equal(t, "validation_failed", out.errorCode(), out.body)
		require.Equal(t, []apperr.FieldError{{Pointer: "/variables/in/requestedAmount", Code: "type", Detail: want}}, out.Errors[0].Extensions.Errors)
	}
}

// plainValue returns a value of a type that the schema accepts.
func plainValue(s *ast.Schema, of *ast.Type) any {
	def := s.Types[of.Name()]
	switch {
	case of.Elem != nil:
		return []any{plainValue(s, of.Elem)}
	case def.Kind == ast.Enum:
		return def.EnumValues[0].Name
	case def.Kind == ast.InputObject:
		all := map[string]any{}
		for _, field := range def.Fields {
			switch prefix := ofName[field.Name]; {
			case !field.Type.NonNull || field.DefaultValue != nil:
			case prefix != "":
				all[field.Name] = prefix + "_01h455vb4pex5vsknk084sn02q"
			default:
				all[field.Name] = plainValue(s, field.Type)
			}
		}
		return all
	}
	return map[string]any{
		"ID": "x", "String": "x", "Int": 1, "Long": 1, "Float": 1.5, "Boolean": true, "DateTime": "2026-01-02T03:04:05Z", "Decimal": "6.5",
		"Duration": "P1D", "JSON": map[string]any{}, "Metadata": map[string]any{}, "MetadataChange": map[string]any{},
	}[of.NamedType]
}

// unreadable are values that the schema accepts and the scalars reject.
var unreadable = map[string]any{"DateTime": "yesterday", "Long": "x", "Metadata": []any{}, "MetadataChange": 7}

// Unreadable values in a mutation's input are reported with their pointers, and nothing
// is executed.
func TestMutationWithInvalidArgumentsChangesNothing(t *testing.T) {
	t.Parallel()
	d, s := newFixture(t), committedSchema()
	before, named := d.CountRows(), 0
	for _, field := range s.Mutation.Fields {
		def := s.Types[field.Arguments[0].Type.Name()]
		for _, member := range def.Fields {
			value, has := unreadable[member.Type.Name()]
			at := "/input/" + member.Name
			if member.Type.Name() == "MoneyInput" && member.Type.Elem == nil {
				value, has, at = map[string]any{"amount": "x", "currency": "USD"}, true, at+"/amount"
			}
			if !has || field.Name == "snoozeJobs" { // these tests have no job queue
				continue
			}
			in := plainValue(s, field.Arguments[0].Type).(map[string]any)
			in[member.Name] = value
			document := fmt.Sprintf(`mutation($in: %s!) { %s(input: $in) { clientMutationId } }`, def.Name, field.Name)
			out := d.send(t, graphqlRequest{as: "operator", document: document, variables: map[string]any{"in": in}})
			if out.errorCode() == "insufficient_scope" {
				out = d.send(t, graphqlRequest{document: document, variables: map[string]any{"in": in}})
			}
			if out.errorCode() == "not_found" { // the record is read before its members are checked
				continue
			}
			require.Equal(t, "validation_failed", out.errorCode(), "%s %s: %s", field.Name, at, out.body)
			for _, fault := range out.Errors[0].Extensions.Errors { // an operator's operation may tell first what its own rules find
				if fault.Pointer == at {
					named++
				}
			}
		}
	}
	require.Greater(t, named, 15)
	require.Equal(t, before, d.CountRows())
}

// Each observation of a batch is checked on its own, in both APIs.
func TestInvalidObservationDoesNotRejectItsBatch(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	quake := func(id string, with map[string]any) map[string]any {
		in := map[string]any{
			"source": "usgs", "sourceEventId": id, "kind": "EARTHQUAKE", "stage": "FINAL", "occurredAt": "2018-02-06T15:50:42Z",
			"location": map[string]any{"latitude": 24.1, "longitude": 121.6}, "measures": []any{map[string]any{"name": "depth", "value": "17", "unit": "km"}, map[string]any{"name": "magnitude", "value": "6.4", "unit": "mw"}},
		}
		for name, value := range with {
			in[name] = value
		}
		return in
	}
	batch := []any{
		quake("a", nil), quake("b", map[string]any{"occurredAt": "today"}), quake("c", map[string]any{"revision": "1.5", "sourceEventId": ""}),
		quake("d", map[string]any{"measures": []any{map[string]any{"name": "depth", "value": "1", "unit": "km"}, map[string]any{"name": "magnitude", "value": 6.4, "unit": "kn"}}}),
		quake("e", map[string]any{"measures": []any{map[string]any{"name": "colour", "value": "1", "unit": "km"}}}), quake("f", nil),
	}
	got := d.queryDataAs(t, "source", `mutation($in: RecordObservationsInput!) { recordObservations(input: $in) { results { result errors { pointer code } } } }`, map[string]any{"in": map[string]any{"observations": batch}})
	var reported []any
	for _, each := range got["recordObservations"].(map[string]any)["results"].([]any) {
		result := each.(map[string]any)
		row := []any{result["result"]}
		for _, fault := range result["errors"].([]any) {
			row = append(row, fault.(map[string]any)["pointer"].(string)+" "+fault.(map[string]any)["code"].(string))
		}
		reported = append(reported, row)
	}
	require.Equal(t, []any{
		[]any{"CREATED"},
		[]any{"REJECTED", "/occurredAt format"},
		[]any{"REJECTED", "/revision type", "/sourceEventId length"},
		[]any{"REJECTED", "/measures/1/unit enum", "/measures/1/value format"},
		[]any{"REJECTED", "/measures/0 unknown", "/measures required"},
		[]any{"CREATED"},
	}, reported)
}

// Error texts use the schema's names.
func TestErrorTextsUseSchemaNames(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for document, says := range map[string]string{
		`{ quotes(first: 0) { totalCount } }`:                                              "The argument first is not right: Use a whole number from 1 to 100.",
		`{ claims(filter: {policyId: "x"}) { totalCount } }`:                               "The argument filter.policyId is not right: ",
		`{ quotes(filter: {createdFrom: "x"}) { totalCount } }`:                            "The argument filter.createdFrom is not right: ",
		`{ quotes(after: "x") { totalCount } }`:                                            "This cursor is not one of this list; take it from the page before, or leave it out.",
		`{ nodes(ids: ["` + strings.Repeat(`x","`, 100) + `x"]) { id } }`:                  "The argument ids is not right: Name at most 100 ids.",
		`{ portfolio(from: "2026-01-01T00:00:00Z", to: "2025-01-01T00:00:00Z") { asOf } }`: "The argument from is not right: It must be before to.",
	} {
		require.Contains(t, d.send(t, graphqlRequest{document: document}).Errors[0].Message, says)
	}
	unnamed := d.send(t, graphqlRequest{document: `{ explain(policyId: "pol_a", occurrence: {}) { met } }`})
	require.Equal(t, []apperr.FieldError{{Pointer: "/occurrence", Code: "required", Detail: "Give exactly one of id, sourceEvent and whatIf."}}, unnamed.Errors[0].Extensions.Errors)
	neither := d.send(t, graphqlRequest{document: `mutation { recordPayoutMethod(input: {type: IBAN, currency: "USD", beneficiary: {name: "Lin", country: "TW"}, iban: {iban: "DE89370400440532013000"}}) { clientMutationId } }`})
	require.Equal(t, []apperr.FieldError{{Pointer: "/input/claimId", Code: "one_of", Detail: "Name exactly one of claimId and policyId."}}, neither.Errors[0].Extensions.Errors)
}
