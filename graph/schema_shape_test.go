package graph_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"go.yaml.in/yaml/v3"

	"parapet/graph/scalar"
)

// members returns the fields of an object as the schema spells them.
func members(def *ast.Definition) map[string]string {
	all := map[string]string{}
	for _, field := range def.Fields {
		if !strings.HasPrefix(field.Name, "__") {
			all[field.Name] = field.Type.String()
		}
	}
	return all
}

// All lists have the same form.
func TestAllListsAreConnections(t *testing.T) {
	t.Parallel()
	s := loadCommittedSchema(t)
	lists := 0
	for name, def := range s.Types {
		if record, is := strings.CutSuffix(name, "Connection"); is {
			node := def.Fields.ForName("nodes").Type.Name()
			require.Equal(t, map[string]string{
				"edges": "[" + record + "Edge!]!", "nodes": "[" + node + "!]!", "pageInfo": "PageInfo!",
				"totalCount": "Int!", "totalCountExceeded": "Boolean!",
			}, members(def), name)
			require.Equal(t, map[string]string{"cursor": "String!", "node": node + "!"}, members(s.Types[record+"Edge"]), name)
		}
		for _, field := range def.Fields {
			if !strings.HasSuffix(field.Type.Name(), "Connection") {
				continue
			}
			lists++
			at := name + "." + field.Name
			for argument, of := range map[string]string{"first": "Int", "after": "String", "filter": "", "order": "Order"} {
				given := field.Arguments.ForName(argument)
				if given == nil {
					require.Contains(t, []string{"filter", "order"}, argument, at)
					continue
				}
				require.False(t, given.Type.NonNull, at)
				require.Nil(t, given.DefaultValue, at)
				if of != "" {
					require.Equal(t, of, given.Type.String(), at)
				}
			}
		}
	}
	require.Greater(t, lists, 10)
}

// Every mutation takes one input and answers one payload of its own name.
func TestAllMutationsHaveOneInput(t *testing.T) {
	t.Parallel()
	s := loadCommittedSchema(t)
	for _, field := range s.Mutation.Fields {
		name := strings.ToUpper(field.Name[:1]) + field.Name[1:]
		require.Len(t, field.Arguments, 1, name)
		require.Equal(t, name+"Input!", field.Arguments[0].Type.String())
		require.Equal(t, name+"Payload", field.Type.String())
		for _, def := range []*ast.Definition{s.Types[name+"Input"], s.Types[name+"Payload"]} {
			require.Equal(t, "String", members(def)["clientMutationId"], def.Name)
		}
	}
}

// restSchema is the part of an OpenAPI schema that names members.
type restSchema struct {
	Ref        string                `yaml:"$ref"`
	AllOf      []restSchema          `yaml:"allOf"` //nolint:tagliatelle // the name in OpenAPI
	Properties map[string]restSchema `yaml:"properties"`
}

// Every member of a REST record is a field of the GraphQL type of the same name.
func TestRecordsHaveTheMembersOfREST(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../rest/openapi.yaml")
	require.NoError(t, err)
	var document struct {
		Components struct {
			Schemas map[string]restSchema `yaml:"schemas"`
		} `yaml:"components"`
	}
	require.NoError(t, yaml.Unmarshal(text, &document))
	schemas := document.Components.Schemas
	var memberNames func(of restSchema) []string
	memberNames = func(of restSchema) (all []string) {
		if of.Ref != "" {
			of = schemas[strings.TrimPrefix(of.Ref, "#/components/schemas/")]
		}
		for _, part := range of.AllOf {
			all = append(all, memberNames(part)...)
		}
		return slices.AppendSeq(all, maps.Keys(of.Properties))
	}
	// What GraphQL shows elsewhere, or what is the same for every record.
	elsewhere := map[string]bool{
		"Explanation.product":            true,                    // productKey
		"PayoutApproval.approvals_count": true,                    // approvals
		"Product.id":                     true, "Source.id": true, // key and name
		"Product.settlement":     true,                                                                                                                   // currencies.automaticUpTo
		"ReceiptKey.status":      true,                                                                                                                   // not in a receipt
		"WebhookEndpoint.secret": true,                                                                                                                   // in the payloads that make one
		"Observation.partner":    true, "ObservationRevision.partner": true, "Occurrence.partner": true, "Product.partner": true, "Source.partner": true, // always null
	}
	missing, compared := map[string]bool{}, 0
	for name, of := range schemas {
		def := committedSchema().Types[name]
		if def == nil || def.Kind != ast.Object {
			continue
		}
		compared++
		for _, member := range memberNames(of) {
			if member != "object" && def.Fields.ForName(scalar.FieldName(member)) == nil {
				missing[name+"."+member] = true
			}
		}
	}
	require.Greater(t, compared, 30)
	require.Equal(t, elsewhere, missing)
}
