package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFirstPageOfFeedHasNoPreviousPage(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 3 {
		d.Quote("rain-excess", nil)
	}
	d.relayEvents(t)
	const document = `query($after: String) { events(first: 2, after: $after) { pageInfo { hasPreviousPage startCursor endCursor } edges { cursor } } }`
	first := d.queryData(t, document, nil)
	require.Equal(t, false, dig(t, first, "events", "pageInfo", "hasPreviousPage"))
	require.Equal(t, dig(t, first, "events", "edges", 0, "cursor"), dig(t, first, "events", "pageInfo", "startCursor"))
	second := d.queryData(t, document, map[string]any{"after": dig(t, first, "events", "pageInfo", "endCursor")})
	require.Equal(t, true, dig(t, second, "events", "pageInfo", "hasPreviousPage"))
}

func TestEachCursorOfAPageIsSealedAlone(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const document = `query($n: Int!) { quotes(first: $n) { edges { cursor } pageInfo { %s } } }`
	page := func(n int, selected string) any {
		return dig(t, d.queryData(t, fmt.Sprintf(document, selected), map[string]any{"n": n}), "quotes")
	}
	require.Equal(t, map[string]any{"startCursor": nil, "endCursor": nil}, dig(t, page(2, "startCursor endCursor"), "pageInfo"))
	for range 3 {
		d.Quote("rain-excess", nil)
	}
	for _, n := range []int{2, 3} { // with and without a next page
		for name, at := range map[string]int{"startCursor": 0, "endCursor": n - 1} {
			got := page(n, name)
			require.Equal(t, map[string]any{name: dig(t, got, "edges", at, "cursor")}, dig(t, got, "pageInfo"))
		}
	}
}

func TestLastEntriesOfATimelineHaveTheirCursors(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.observeQuake(t, 1)
	const selected = `nodes { sequence } edges { cursor node { sequence } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`
	data := d.queryData(t, `{ claims(first: 1) { nodes { id last: timeline(last: 2) { `+selected+` } } } }`, nil)
	id, last := dig(t, data, "claims", "nodes", 0, "id"), dig(t, data, "claims", "nodes", 0, "last")
	require.Equal(t, map[string]any{
		"hasNextPage": false, "hasPreviousPage": true,
		"startCursor": dig(t, last, "edges", 0, "cursor"), "endCursor": dig(t, last, "edges", 1, "cursor"),
	}, dig(t, last, "pageInfo"))
	next := d.queryData(t, `query($id: ID!, $after: String) { claim(id: $id) { timeline(first: 5, after: $after) { `+selected+` } } }`,
		map[string]any{"id": id, "after": dig(t, last, "pageInfo", "startCursor")})
	require.Len(t, dig(t, next, "claim", "timeline", "nodes"), 1)
	require.Equal(t, dig(t, last, "nodes", 1), dig(t, next, "claim", "timeline", "nodes", 0))
	require.Equal(t, dig(t, last, "pageInfo", "endCursor"), dig(t, next, "claim", "timeline", "pageInfo", "endCursor"))
}

// A cursor is valid whether the list's own order is named or left out.
func TestCursorsDoNotDependOnNamingTheOwnOrder(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	for range 3 {
		d.Quote("rain-excess", nil)
	}
	const document = `query($after: String, $order: Order) { quotes(first: 1, after: $after, order: $order) { pageInfo { endCursor } nodes { id } } }`
	for named, order := range map[any]any{nil: "NEWEST_FIRST", "NEWEST_FIRST": nil} {
		first := d.queryData(t, document, map[string]any{"order": named})
		cursor := dig(t, first, "quotes", "pageInfo", "endCursor")
		same := d.queryData(t, document, map[string]any{"after": cursor, "order": named})
		require.Equal(t, same, d.queryData(t, document, map[string]any{"after": cursor, "order": order}))
		out := d.send(t, graphqlRequest{document: document, variables: map[string]any{"after": cursor, "order": "OLDEST_FIRST"}})
		require.Equal(t, "cursor_invalid", out.errorCode())
	}
}
