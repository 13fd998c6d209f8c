package graph_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/graph"
)

// With any number of subscriptions, only one poller queries the database while nothing
// happens, and a new event is read once for all.
func TestIdleSubscriptionsRunNoQueries(t *testing.T) {
	t.Parallel()
	const many = 40
	d := newFixture(t)
	d.Quote("rain-excess", nil)
	d.relayEvents(t)
	counted, statements := d.countStatementsOf(t)
	s := newServedFixtureOn(t, counted, graph.Config{})
	var all []*eventReader
	for range many {
		l := s.openEventStream(t, "acme", `subscription { events { sequence } }`)
		first, _ := l.nextEvent()
		require.EqualValues(t, 1, first.eventSequence(t))
		all = append(all, l)
	}
	quiet := func() {
		asked, looked := int64(-1), int64(0)
		require.Eventually(t, func() bool {
			if n := statements.n.Load(); n != asked {
				asked, looked = n, statements.looks.Load()
			}
			return statements.looks.Load() >= looked+4
		}, time.Minute, 5*time.Millisecond)
	}
	quiet()
	before := statements.n.Load()
	d.Quote("rain-excess", nil) // over connections that are not counted
	d.relayEvents(t)
	for _, l := range all {
		second, _ := l.nextEvent()
		require.EqualValues(t, 2, second.eventSequence(t))
	}
	quiet()
	const heads, reads = 1, 2 // to see that there is news, and to read it; again when that took over a second
	require.LessOrEqual(t, statements.n.Load()-before, int64(heads+reads))
}
