package graph_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/model/kernel/actor"
)

// readApart are the fields for which the library calls a method that may read and
// may fail, as Type.field.
func readApart(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("generated/*.generated.go")
	require.NoError(t, err)
	call := regexp.MustCompile(`return ec\.fieldContext_([A-Za-z]+)_(\w+)\(ctx, field\)\n\t\t},\n\t\tfunc\(ctx context\.Context\) \(any, error\) \{\n(?:.*\n)?.*\(ctx[,)]`)
	all := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range call.FindAllSubmatch(text, -1) {
			all[string(found[1])+"."+string(found[2])] = true
		}
	}
	return all
}

// When a non-null field fails, its parent is null too.
func TestFieldsThatMayFailAreNullable(t *testing.T) {
	t.Parallel()
	s := loadCommittedSchema(t)
	for _, root := range []*ast.Definition{s.Query, s.Mutation} {
		for _, field := range root.Fields {
			require.False(t, field.Type.NonNull && !strings.HasPrefix(field.Name, "__"), "%s.%s", root.Name, field.Name)
		}
	}
	fields := readApart(t)
	require.Greater(t, len(fields), len(s.Query.Fields)+len(s.Mutation.Fields))
	for name := range fields {
		object, member, _ := strings.Cut(name, ".")
		if object == s.Subscription.Name || strings.HasSuffix(object, "Connection") { // an event is the whole result; a page is read with its count
			continue
		}
		require.False(t, s.Types[object].Fields.ForName(member).Type.NonNull, "%s is read apart", name)
	}
}

// requirePartial returns the data of a response with errors.
func (a response) requirePartial(t *testing.T) map[string]map[string]any {
	t.Helper()
	require.NotEmpty(t, a.Errors, a.body)
	require.Equal(t, 200, a.status, a.body)
	var data map[string]map[string]any
	require.NoError(t, json.Unmarshal(a.Data, &data), a.body)
	return data
}

func TestFailedMutationDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	out := d.send(t, graphqlRequest{document: `mutation {
		before: rotateWebhookSecret(input: {webhookEndpointId: "whe_01h455vb4pex5vsknk084sn02q"}) { secret }
		made: createWebhookEndpoint(input: {url: "https://partner.example/hooks"}) { secret webhookEndpoint { id deliveries(first: 0) { totalCount } } }
		after: addMessage(input: {claimId: "clm_01h455vb4pex5vsknk084sn02q", body: "When?"}) { message { id } } }`})
	data := out.requirePartial(t)
	require.Nil(t, data["before"])
	require.Nil(t, data["after"])
	require.Contains(t, data["made"]["secret"], "whsec_")
	require.Nil(t, data["made"]["webhookEndpoint"].(map[string]any)["deliveries"])
	var paths [][]any
	for _, e := range out.Errors {
		paths = append(paths, e.Path)
	}
	require.ElementsMatch(t, [][]any{{"before"}, {"made", "webhookEndpoint", "deliveries"}, {"after"}}, paths)
	require.Len(t, d.queryData(t, `{ webhookEndpoints { nodes { id } } }`, nil)["webhookEndpoints"].(map[string]any)["nodes"], 1)
}

func TestFailedRelationDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	policy := d.observeQuake(t, 1)[0]
	d.Acme.Scopes = []actor.Scope{actor.ScopePoliciesRead}
	out := d.send(t, graphqlRequest{document: `{ policies { nodes { id limit { amount } quote { id } claims { nodes { id } } } } quotes { nodes { id } } viewer { name } }`})
	data := out.requirePartial(t)
	require.NotNil(t, data["viewer"])
	require.Nil(t, data["quotes"])
	card := data["policies"]["nodes"].([]any)[0].(map[string]any)
	require.Equal(t, policy.ID, card["id"])
	require.Nil(t, card["quote"])
	require.Nil(t, card["claims"])
	require.Len(t, out.Errors, 3)
	for _, e := range out.Errors {
		require.Equal(t, "insufficient_scope", e.Extensions.Code)
	}
}

// An empty list is returned as such: null would mean a failure.
func TestEmptyListsAreNotNull(t *testing.T) {
	t.Parallel()
	d, s := newFixture(t), loadCommittedSchema(t)
	asked := 0
	for _, field := range s.Query.Fields {
		if field.Type.Elem == nil || strings.Contains(strings.ToLower(field.Name), "job") || len(field.Arguments) > 0 && field.Arguments[0].Type.NonNull {
			continue
		}
		asked++
		got := d.queryDataAs(t, "operator", "{ "+field.Name+" { __typename } }", nil)
		require.IsType(t, []any{}, got[field.Name], field.Name)
	}
	require.Greater(t, asked, 4)
	got := d.queryData(t, `{ portfolio { book { lines { currency } } claimsByStatus { count } payoutsByStatus { count } series { currency } doubt { count } }
		statement(from: "2026-01-01T00:00:00Z", to: "2026-02-01T00:00:00Z") { opening { entries } closing { entries } } }`, nil)
	for _, within := range []string{"portfolio", "statement"} {
		for name, list := range got[within].(map[string]any) {
			if name != "book" {
				require.IsType(t, []any{}, list, name)
			}
		}
	}
}
