package graph_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/modeltest"
)

// list is a list of the schema, and the way to its records.
type list struct {
	of    *ast.Definition
	way   string // up to the braces around a record's fields; %[1]d stands for how many
	depth int
}

// lists are one list of each kind of record, the nearest to the root.
func lists(s *ast.Schema) (all []list) {
	visits := []list{{s.Query, "{ ", 1}}
	seen := map[string]bool{}
	for len(visits) > 0 {
		v := visits[0]
		visits = visits[1:]
		for _, field := range v.of.Fields {
			to := s.Types[field.Type.Name()]
			if to.Kind != ast.Object || seen[to.Name] || strings.HasPrefix(field.Name, "__") || needs(field) || costly[v.of.Name+"."+field.Name] {
				continue
			}
			seen[to.Name] = true
			next := list{to, v.way + field.Name + " { ", v.depth + 1}
			if strings.HasSuffix(to.Name, "Connection") {
				next = list{s.Types[to.Fields.ForName("nodes").Type.Name()], v.way + field.Name + "(first: %[1]d) { nodes { ", v.depth + 2}
				all = append(all, next)
			}
			visits = append(visits, next)
		}
	}
	return all
}

// needs tells whether a field must be given something.
func needs(field *ast.FieldDefinition) bool {
	return slices.ContainsFunc(field.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil })
}

// relations are the fields of a record that may have to be read, each written out.
func (l list) relations(s *ast.Schema) (all []string) {
	for _, field := range l.of.Fields {
		to := s.Types[field.Type.Name()]
		switch {
		case !to.IsCompositeType() || strings.HasPrefix(field.Name, "__") || needs(field):
		case costly[l.of.Name+"."+field.Name]:
		case strings.HasSuffix(to.Name, "Connection"):
			all = append(all, field.Name+" { totalCount nodes { __typename } }")
		default:
			all = append(all, field.Name+" { __typename }")
		}
	}
	return all
}

// costly are relations that are worked out for each record by itself: the guard
// makes each of them cost as much as a sum over the book.
var costly = map[string]bool{"Occurrence.policies": true}

// statements is how many a document takes when its caches are warm, and how many
// records it is about.
func (d *door) statements(t *testing.T, c *counter, document string) (fewest int64, records int) {
	t.Helper()
	fewest = math.MaxInt64
	for range 3 {
		before := c.n.Load()
		got := d.ask(t, ask{as: "operator", document: document})
		if len(got.Errors) > 0 { // a feed is one partner's
			before = c.n.Load()
			got = d.ask(t, ask{document: document})
		}
		require.Empty(t, got.Errors, "%s: %s", document, got.body)
		fewest, records = min(fewest, c.n.Load()-before), strings.Count(string(got.Data), `"here":"`)
	}
	return fewest, records
}

// Every relation of every kind of record is read once, for however many records.
func TestNoRelationIsReadForEachRecord(t *testing.T) {
	t.Parallel()
	d := open(t)
	for i := range 3 {
		d.records(t, "acme", d.Acme)
		d.After(time.Hour)
		d.Observe(modeltest.Quake(fmt.Sprint("us", i), d.Now().Add(-time.Minute), hualien, "7.1"))
		d.Work()
	}
	for _, claim := range d.data(t, `{ claims(first: 3) { nodes { id } } }`, nil)["claims"].(map[string]any)["nodes"].([]any) {
		d.data(t, `mutation($id: ID!) { addMessage(input: {claimId: $id, body: "When?"}) { message { id } }
			addAttachment(input: {claimId: $id, fileName: "a.txt", contentType: "text/plain", contentBase64: "YQ=="}) { attachment { id } } }`, claim.(map[string]any))
	}
	d.relay(t)
	d, statements := d.counted(t)
	s := schema(t)
	several := map[string]bool{}
	for _, l := range lists(s) {
		relations := l.relations(s)
		if several[l.of.Name] = len(relations) == 0; several[l.of.Name] {
			continue
		}
		document := func(n int, relations ...string) string {
			return fmt.Sprintf(l.way, n) + "here: __typename " + strings.Join(relations, " ") + strings.Repeat(" }", l.depth)
		}
		one, _ := d.statements(t, statements, document(1, relations...))
		three, records := d.statements(t, statements, document(3, relations...))
		several[l.of.Name] = records > 1
		if one == three {
			continue
		}
		for _, relation := range relations {
			one, _ := d.statements(t, statements, document(1, relation))
			three, _ := d.statements(t, statements, document(3, relation))
			require.Equal(t, one, three, "%s.%s", l.of.Name, relation)
		}
	}
	for _, definition := range s.PossibleTypes["Node"] {
		require.True(t, several[definition.Name] || slices.Contains(theirsAlone, definition.Name), "one %s shows nothing", definition.Name)
	}
}
