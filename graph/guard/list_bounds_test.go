package guard_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/guard"
	"parapet/model/kernel/event"
)

// servedLists returns the schema that the guard protects.
func servedLists(t testing.TB) *ast.Schema {
	t.Helper()
	files, err := filepath.Glob("../schema/*.graphqls")
	require.NoError(t, err)
	sources := make([]*ast.Source, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sources[i] = &ast.Source{Name: file, Input: string(text)}
	}
	return gqlparser.MustLoadSchema(sources...)
}

// A list of objects is a connection, whose pages are bounded, or it has a bound.
func TestEveryListIsBounded(t *testing.T) {
	t.Parallel()
	s := servedLists(t)
	var all []string
	for name, of := range s.Types {
		if of.BuiltIn || of.Kind != ast.Object || strings.HasSuffix(name, "Connection") {
			continue
		}
		for _, field := range of.Fields {
			if field.Type.Elem != nil && s.Types[field.Type.Name()].IsCompositeType() && !strings.HasPrefix(field.Name, "__") {
				all = append(all, name+"."+field.Name)
			}
		}
	}
	slices.Sort(all)
	require.Equal(t, all, guard.BoundedLists(), "give each list its bound in list_bounds.go, and take out those that are no more")
}

func TestListCostEqualsMaxLength(t *testing.T) {
	t.Parallel()
	g := guard.New(servedLists(t), guard.Standard())
	for _, c := range []struct {
		text string
		want int
	}{
		{"{eventTypes{name}}", len(event.Types()) * 60},
		{"{reconciliationExceptions{id}}", 100},
		{"{quotes(first:2){nodes{id metadata}}}", 1 + 2*(15+2)},
		{"{events(first:100){nodes{data}}}", 1 + 100*(5+15)},
		{"{policies(first:2){nodes{claims(first:3){totalCount nodes{description}}}}}", 1 + 2*(2+1+20+3*(2+2))},
		{"{statement{csv}}", 1 + 2000 + 8000},
		{"{invariants{name violations{subject}}}", 50 * (1 + 100)},
		{"{quotes(first:2){nodes{price{lines{kind}} history{factor}}}}", 1 + 2*(15+8+100)},
		{"{policies(first:2){nodes{cover{payoutCurves{points{index}}}}}}", 1 + 2*(2+10*(1+20))},
		{`{occurrence(id:"x"){progress{lines{currency}}}}`, 1 + 500 + 200},
		{"{portfolio{book{more}}}", 1 + 2000},
		{"{portfolio{book{lines{currency}}}}", 1 + 2000 + 100},
		{"{portfolio{book(first:1000){lines{currency}}}}", 1 + 2000 + 1000},
		{"{portfolio{book(first:1001){lines{currency}}}}", 1 + 2000 + 1000},
		{"{portfolio{claimsByStatus{count}}}", 1 + 2000 + 6*8},
		{`{portfolio(currency:"USD"){claimsByStatus{count}}}`, 1 + 2000 + 6},
		{"{portfolio(currency:null){claimsByStatus{count}}}", 1 + 2000 + 6*8},
		{"{portfolio{series{currency}}}", 1 + 2000 + 8},
		{"{portfolio{series{points{claimsOpened}}}}", 1 + 2000 + 8*(1+366/28+2)},
		{"{portfolio{series(interval:DAY){points{claimsOpened}}}}", 1 + 2000 + 8*(1+366+2)},
		{`{portfolio(from:"2020-01-01T00:00:00Z"){series(interval:WEEK){points{claimsOpened}}}}`, 1 + 2000 + 8*(1+1827/7+2)},
		{`{portfolio(from:"2020-01-01T00:00:00Z",to:"2020-01-08T00:00:00Z"){series(interval:DAY){points{claimsOpened}}}}`, 1 + 2000 + 8*(1+7+2)},
		{`{portfolio(from:"2020-01-08T00:00:00Z",to:"2020-01-01T00:00:00Z"){series(interval:DAY){points{claimsOpened}}}}`, 1 + 2000 + 8*(1+2)},
		{`{portfolio(from:"2000-01-01T00:00:00Z",to:"2020-01-01T00:00:00Z"){series(interval:DAY){points{claimsOpened}}}}`, 1 + 2000 + 8*(1+400)},
		{`{portfolio(from:"yesterday",to:"2020-01-01T00:00:00Z"){series(interval:DAY){points{claimsOpened}}}}`, 1 + 2000 + 8*(1+400)},
		{"{ledger{entries}}", 2000 + 9*8},
		{"{ledger(byPartner:true){entries}}", 2000 + 9*8*25},
		{`{ledger(byPartner:false,currency:"USD"){entries}}`, 2000 + 9},
		{"{statement{opening{entries} closing{entries}}}", 1 + 2000 + 2*9*8},
		{"{occurrences(first:3){nodes{policies(first:4){nodes{met}}}}}", 1 + 3*(1+500+1+4*4)},
		{"{exposure(occurrence:{}){totals{paying} bands{claims}}}", 1 + 10000 + 5*8},
	} {
		document, err := g.Read(c.text)
		require.NoError(t, err, c.text)
		cost, err := document.Cost("", nil)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, cost, c.text)
	}
}

func TestListsAreBoundedByVariables(t *testing.T) {
	t.Parallel()
	document, err := guard.New(servedLists(t), guard.Standard()).Read(`query($c: String, $from: DateTime, $to: DateTime, $i: SeriesInterval! = WEEK, $each: Boolean = true) {
		portfolio(currency: $c, from: $from, to: $to) { series(interval: $i) { points { claimsOpened } } } ledger(currency: $c, byPartner: $each) { entries } }`)
	require.NoError(t, err)
	for _, c := range []struct {
		variables map[string]any
		want      int
	}{
		{nil, 8*(1+366/7+2) + 9*8*25},
		{map[string]any{"c": "USD", "i": "DAY", "each": false}, 1 + 366 + 2 + 9},
		{map[string]any{"c": nil, "each": nil, "from": "2020-01-01T00:00:00Z", "to": "2020-01-15T00:00:00Z"}, 8*(1+2+2) + 9*8*25},
		{map[string]any{"from": 1}, 8*(1+366/7+2) + 9*8*25},
	} {
		cost, err := document.Cost("", c.variables)
		require.NoError(t, err)
		require.Equal(t, 1+2000+2000+c.want, cost, c.variables)
	}
}
