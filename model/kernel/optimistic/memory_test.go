package optimistic

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestLatestEstimateOfTheClockIsKept(t *testing.T) {
	t.Parallel()
	var m Memory
	_, known := m.Assume()
	require.False(t, known)
	clock := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	read := func() time.Time {
		reads, known := m.Assume()
		require.True(t, known)
		return reads.clock
	}
	m.rememberClock(clock)
	require.WithinRange(t, read(), clock, clock.Add(time.Minute))
	m.rememberClock(clock.Add(-time.Hour)) // arrived late
	require.WithinRange(t, read(), clock, clock.Add(time.Minute))
	m.rememberClock(clock.Add(time.Hour))
	require.WithinRange(t, read(), clock.Add(time.Hour), clock.Add(time.Hour+time.Minute))
	m.Forget()
	_, known = m.Assume()
	require.False(t, known)
	m.rememberClock(clock)
	_, known = m.Assume()
	require.False(t, known, "it is earlier than one that was used")
	m.rememberClock(clock.Add(2 * time.Hour))
	require.WithinRange(t, read(), clock.Add(2*time.Hour), clock.Add(2*time.Hour+time.Minute))
}

func TestClockThatWasReadIsTheEarliestThatIsAssumed(t *testing.T) {
	t.Parallel()
	var m Memory
	clock := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m.rememberClock(clock)
	m.Forget()
	m.rememberClock(clock.Add(-time.Hour)) // it arrived an hour late
	_, known := m.Assume()
	require.False(t, known)
}

func TestClockThatWasAssumedIsTheEarliestThatIsAssumed(t *testing.T) {
	t.Parallel()
	var m Memory
	clock := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	m.rememberClock(clock)
	require.Eventually(t, func() bool {
		reads, known := m.Assume()
		return known && reads.clock.After(clock.Add(time.Millisecond))
	}, 10*time.Second, time.Millisecond)
	m.Forget()
	m.rememberClock(clock)
	_, known := m.Assume()
	require.False(t, known)
}

func TestResultIsNotAssumedAfterTheGuards(t *testing.T) {
	t.Parallel()
	var m Memory
	m.rememberClock(time.Unix(0, 0))
	m.rememberResult("select 1", []byte("[]"))
	reads, known := m.Assume()
	require.True(t, known)
	require.True(t, reads.QueueGuards(new(pgx.Batch)))
	require.Panics(t, func() { reads.Queue(nil, "select 1", new([]struct{})) })
}

func TestCallsThatShareATransactionShareNoRows(t *testing.T) {
	t.Parallel()
	var m Memory
	m.rememberClock(time.Unix(0, 0))
	m.rememberResult("select 1", []byte(`[{"N":1},{"N":2}]`))
	reads, known := m.Assume()
	require.True(t, known)
	type row struct{ N int }
	one, two := []row{}, []row{{7}, {8}, {9}}
	reads.Queue(nil, "select 1", &one)
	reads.Queue(nil, "select 1", &two)
	require.Equal(t, []row{{1}, {2}}, one)
	require.Equal(t, one, two)
	one[0].N = 3
	require.Equal(t, 1, two[0].N)
	require.Len(t, reads.guards, 1, "one for the query")

	m.Forget()
	reads = &Reads{memory: &m, Assumed: true}
	reads.Queue(nil, "select 1", &one)
	require.False(t, reads.QueueGuards(new(pgx.Batch)), "the result is not known")
}
