package graph_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/modeltest"
)

// list is a list of the schema and the query text that leads to its records.
type list struct {
	of    *ast.Definition
	way   string // the text before the braces of a record's fields; %[1]d is the number of records
	depth int
}

// allLists are one list of each kind of record, the nearest to the root.
func allLists(s *ast.Schema) (all []list) {
	visits := []list{{s.Query, "{ ", 1}}
	seen := map[string]bool{}
	for len(visits) > 0 {
		v := visits[0]
		visits = visits[1:]
		for _, field := range v.of.Fields {
			to := s.Types[field.Type.Name()]
			if to.Kind != ast.Object || seen[to.Name] || strings.HasPrefix(field.Name, "__") || requiredArguments(field) {
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
	return append(all, list{s.Types["Explanation"], supposed, 4}) // what is worked out needs something to be about
}

// supposed is the query text of a hypothetical earthquake.
const supposed = `{ exposure(occurrence: {earthquake: {location: {latitude: 23.98, longitude: 121.6}, magnitude: "7.1"}}) { policies(first: %[1]d) { nodes { `

// requiredArguments reports whether a field has required arguments.
func requiredArguments(field *ast.FieldDefinition) bool {
	return slices.ContainsFunc(field.Arguments, func(a *ast.ArgumentDefinition) bool { return a.Type.NonNull && a.DefaultValue == nil })
}

// relations are the fields of a record that need a read of their own.
func (l list) relations(s *ast.Schema) (all []string) {
	for _, field := range l.of.Fields {
		to := s.Types[field.Type.Name()]
		switch {
		case !to.IsCompositeType() || strings.HasPrefix(field.Name, "__") || requiredArguments(field):
		case strings.HasSuffix(to.Name, "Connection"):
			all = append(all, field.Name+" { totalCount nodes { __typename } }")
		default:
			all = append(all, field.Name+" { __typename }")
		}
	}
	return all
}

// countStatements returns the number of statements of a document with warm caches, and
// the number of records.
func (d *fixture) countStatements(t *testing.T, c *counter, document string) (fewest int64, records int) {
	t.Helper()
	fewest = math.MaxInt64
	for range 3 {
		before := c.n.Load()
		got := d.send(t, graphqlRequest{as: "operator", document: document})
		if len(got.Errors) > 0 { // a feed is one partner's
			before = c.n.Load()
			got = d.send(t, graphqlRequest{document: document})
		}
		require.Empty(t, got.Errors, "%s: %s", document, got.body)
		fewest, records = min(fewest, c.n.Load()-before), strings.Count(string(got.Data), `"here":"`)
	}
	return fewest, records
}

var recordID = regexp.MustCompile(`"id":"([a-z]{3}_[0-9a-z]{26})"`)

// recordIDs returns the ids of three records of a list.
func (d *fixture) recordIDs(t *testing.T, l list) (ids []string) {
	t.Helper()
	document := fmt.Sprintf(l.way, 3) + "id" + strings.Repeat(" }", l.depth)
	got := d.send(t, graphqlRequest{as: "operator", document: document})
	if len(got.Errors) > 0 {
		got = d.send(t, graphqlRequest{document: document})
	}
	require.Empty(t, got.Errors, got.body)
	for _, id := range recordID.FindAllStringSubmatch(string(got.Data), -1) {
		ids = append(ids, id[1])
	}
	return ids
}

// foundAtOnce requires that several records of one type are read by id in as many
// statements as one of them.
func (d *fixture) foundAtOnce(t *testing.T, c *counter, ids []string) {
	t.Helper()
	require.Greater(t, len(ids), 1, ids)
	document := func(ids []string) string {
		return `{ nodes(ids: ["` + strings.Join(ids, `", "`) + `"]) { here: __typename } }`
	}
	one, _ := d.countStatements(t, c, document(ids[:1]))
	all, found := d.countStatements(t, c, document(ids))
	require.Equal(t, len(ids), found, ids)
	require.Equal(t, one, all, ids)
}

// Every relation of every type of record is read in one statement for any number of
// records.
func TestRelationsAreBatched(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for i := range 3 {
		d.createOneOfEach(t, "acme", d.Acme)
		d.AdvanceClock(time.Hour)
		d.Observe(modeltest.Quake(fmt.Sprint("us", i), d.Now().Add(-time.Minute), hualien, "7.1"))
		d.RunJobs()
	}
	for _, claim := range d.queryData(t, `{ claims(first: 3) { nodes { id } } }`, nil)["claims"].(map[string]any)["nodes"].([]any) {
		d.queryData(t, `mutation($id: ID!) { addMessage(input: {claimId: $id, body: "When?"}) { message { id } }
			addAttachment(input: {claimId: $id, fileName: "a.txt", contentType: "text/plain", contentBase64: "YQ=="}) { attachment { id } } }`, claim.(map[string]any))
	}
	for range 3 {
		d.queryDataAs(t, "operator", `mutation($until: DateTime!) { declareMoratorium(input: {kind: RAINFALL, endsAt: $until, reason: "A flood."}) { moratorium { id } } }`,
			map[string]any{"until": d.Now().Add(time.Hour).Format(time.RFC3339)})
	}
	d.relayEvents(t)
	d, statements := d.countStatementsOf(t)
	s := loadCommittedSchema(t)
	several := map[string]bool{}
	for _, l := range allLists(s) {
		if slices.Contains(s.PossibleTypes["Node"], l.of) {
			d.foundAtOnce(t, statements, d.recordIDs(t, l))
		}
		relations := l.relations(s)
		if several[l.of.Name] = len(relations) == 0; several[l.of.Name] {
			continue
		}
		document := func(n int, relations ...string) string {
			return fmt.Sprintf(l.way, n) + "here: __typename " + strings.Join(relations, " ") + strings.Repeat(" }", l.depth)
		}
		two, _ := d.countStatements(t, statements, document(2, relations...)) // progress of one alone may be kept
		three, records := d.countStatements(t, statements, document(3, relations...))
		several[l.of.Name] = records > 2
		if two == three {
			continue
		}
		for _, relation := range relations {
			two, _ := d.countStatements(t, statements, document(2, relation))
			three, _ := d.countStatements(t, statements, document(3, relation))
			require.Equal(t, two, three, "%s.%s", l.of.Name, relation)
		}
	}
	for _, definition := range s.PossibleTypes["Node"] {
		require.True(t, several[definition.Name], "one %s shows nothing", definition.Name)
	}
}
