package graph_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
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
