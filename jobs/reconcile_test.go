package jobs

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
)

func TestARailsReportSettlesWhatItPaid(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	require.NoError(t, s.release(job))
	var day time.Time
	require.NoError(t, s.pool.QueryRow(t.Context(), "select date_trunc('day', created_at at time zone 'UTC') at time zone 'UTC' from simulator_transfers").Scan(&day))
	for _, again := range []bool{false, true} {
		taken, err := Reconcile(t.Context(), s.Service, s.rail, day.UTC())
		require.NoError(t, err)
		require.Equal(t, again, taken.Again)
	}
	s.eventually(func() bool {
		require.NoError(t, s.Service.Sweep(t.Context()))
		return s.read(job).Status == "reconciled"
	}, "the rail's report confirms the payout")
}

func TestNothingIsMissingFromAReportOfReturns(t *testing.T) {
	t.Parallel()
	s := open(t)
	require.NoError(t, s.release(s.fleet(1)[0]))
	s.exec("delete from simulator_transfers") // it reports nothing
	returns := &acting{Rail: s.rail, able: &rail.Capabilities{ReturnsOnly: true}}
	tomorrow := s.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	for _, by := range []struct {
		rail    rail.Rail
		day     time.Time
		missing int
	}{{returns, tomorrow, 0}, {s.rail, tomorrow.AddDate(0, 0, 1), 1}} {
		done, err := Reconcile(t.Context(), s.Service, by.rail, by.day)
		require.NoError(t, err)
		require.Equal(t, by.missing, done.Missing)
	}
}

// reporting is a rail that has no report of some days, and counts who asks.
type reporting struct {
	rail.Rail

	none  map[string]bool
	asked []string
}

// Report implements rail.Rail.
func (r *reporting) Report(ctx context.Context, day time.Time, each func(rail.Line) error) error {
	name := day.Format(time.DateOnly)
	if r.asked = append(r.asked, name); r.none[name] {
		return rail.ErrNoReport
	}
	return r.Rail.Report(ctx, day, each)
}

func TestReportsAreFetchedOfEveryDayThatIsOver(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	require.NoError(t, s.release(job))
	var paid time.Time
	require.NoError(t, s.pool.QueryRow(t.Context(), "update payout_attempts set started_at = (select min(created_at) from simulator_transfers) - interval '3 days' returning started_at + interval '3 days'").Scan(&paid))
	paid = paid.UTC().Truncate(24 * time.Hour)
	name := func(days int) string { return paid.AddDate(0, 0, days).Format(time.DateOnly) }
	from := &reporting{Rail: s.rail, none: map[string]bool{name(-2): true}}
	fetch := &fetchReports{service: s.Service, rail: from, log: slog.New(slog.DiscardHandler)}

	require.NoError(t, fetch.until(t.Context(), paid.AddDate(0, 0, 1)))
	require.Equal(t, []string{name(-3), name(-2), name(-1)}, from.asked, "a day is not over at its last minute")
	from.asked = nil
	require.NoError(t, fetch.until(t.Context(), paid.AddDate(0, 0, 1).Add(reportsAfter)))
	require.Equal(t, []string{name(-2), name(0)}, from.asked, "each day is taken once")
	require.Equal(t, "reconciled", s.read(job).Status)
	rows := s.Rows()
	from.asked = nil
	require.NoError(t, fetch.until(t.Context(), paid.AddDate(0, 0, 1).Add(reportsAfter)))
	require.Equal(t, []string{name(-2)}, from.asked)
	require.Equal(t, rows, s.Rows(), "asking again changes nothing")

	from.asked = nil
	require.NoError(t, fetch.until(t.Context(), paid.AddDate(0, 0, 9).Add(reportsAfter)))
	from.asked = nil
	require.NoError(t, fetch.until(t.Context(), paid.AddDate(0, 0, 9).Add(reportsAfter)))
	require.Empty(t, from.asked, "a day that the rail never reported is given up")
}
