package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/modeltest"
)

// sample is a value of a type, with the id wherever one goes.
func sample(s *ast.Schema, of *ast.Type, id string) string {
	if of.Elem != nil {
		return "[" + sample(s, of.Elem, id) + "]"
	}
	def := s.Types[of.NamedType]
	switch def.Kind {
	case ast.Enum:
		return def.EnumValues[0].Name
	case ast.InputObject:
		var members []string
		for _, field := range def.Fields {
			if field.Type.NonNull || field.Type.NamedType == "ID" {
				members = append(members, field.Name+": "+sample(s, field.Type, id))
			}
		}
		return "{" + strings.Join(members, ", ") + "}"
	case ast.Scalar, ast.Object, ast.Interface, ast.Union:
	}
	switch of.NamedType {
	case "ID":
		return fmt.Sprintf("%q", id)
	case "Int", "Long":
		return "1"
	case "Float":
		return "1.5"
	case "Boolean":
		return "true"
	case "DateTime":
		return `"2026-01-02T03:04:05Z"`
	case "Decimal":
		return `"6.5"`
	case "JSON", "Metadata":
		return "{}"
	case "Duration":
		return `"P1D"`
	}
	return `"x"`
}

// takesID tells whether an id can be given somewhere in a value of the type.
func takesID(s *ast.Schema, of *ast.Type) bool {
	def := s.Types[of.Name()]
	if def.Kind == ast.InputObject {
		for _, field := range def.Fields {
			if takesID(s, field.Type) {
				return true
			}
		}
	}
	return of.Name() == "ID"
}

// asking are all operations that take an id, with it.
func asking(s *ast.Schema, id string) map[string]string {
	all := map[string]string{}
	for keyword, root := range map[string]*ast.Definition{"query": s.Query, "mutation": s.Mutation} {
		for _, field := range root.Fields {
			var arguments []string
			takes := false
			for _, argument := range field.Arguments {
				if takesID(s, argument.Type) {
					takes = true
				} else if !argument.Type.NonNull || argument.DefaultValue != nil {
					continue
				}
				arguments = append(arguments, argument.Name+": "+sample(s, argument.Type, id))
			}
			if takes {
				all[keyword+" "+field.Name] = fmt.Sprintf("%s { %s(%s) { __typename } }", keyword, field.Name, strings.Join(arguments, ", "))
			}
		}
	}
	return all
}

func TestAnothersIDIsNoID(t *testing.T) {
	t.Parallel()
	d := open(t)
	s := schema(t)
	policy := d.shaken(t, 1)[0]
	claim := d.OnlyClaim(policy)
	methods := d.data(t, `{ payoutMethods { nodes { id } } }`, nil)["payoutMethods"].(map[string]any)["nodes"].([]any)
	said, err := d.Service.AddMessage(t.Context(), d.Acme, claim.ID, "When?")
	require.NoError(t, err)
	ids := []string{policy.ID, policy.QuoteID, claim.ID, claim.Payouts[0].ID, methods[0].(map[string]any)["id"].(string), said.ID}
	require.NotEmpty(t, asking(s, ""))
	for _, id := range ids {
		unknown := id[:strings.Index(id, "_")] + "_01h455vb4pex5vsknk084sn02q"
		strangers := asking(s, unknown)
		for name, document := range asking(s, id) {
			theirs := d.ask(t, ask{as: "globex", document: document})
			nobodys := d.ask(t, ask{as: "globex", document: strangers[name]})
			require.Equal(t, nobodys.status, theirs.status, document)
			require.Equal(t, strings.ReplaceAll(nobodys.body, unknown, id), theirs.body, document)
		}
	}
	require.Len(t, d.As(modeltest.Partner("acme")).Timeline(claim.ID), len(d.Timeline(claim.ID)))
}
