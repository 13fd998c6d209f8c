package graph_test

import (
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
