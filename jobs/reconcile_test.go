package jobs

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
)

func TestReportSettlesPaidPayouts(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	require.NoError(t, s.runRelease(job))
	var day time.Time
	require.NoError(t, s.pool.QueryRow(t.Context(), "select date_trunc('day', created_at at time zone 'UTC') at time zone 'UTC' from simulator_transfers").Scan(&day))
	for _, again := range []bool{false, true} {
		taken, err := Reconcile(t.Context(), s.Service, s.rail, day.UTC())
		require.NoError(t, err)
		require.Equal(t, again, taken.AlreadyImported)
	}
	s.requireEventually(func() bool {
		require.NoError(t, s.Service.Operations.Sweep(t.Context()))
		return s.readPayout(job).Status == "reconciled"
	}, "the rail's report confirms the payout")
}

func TestReturnsOnlyReportOpensNoMissingException(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	require.NoError(t, s.runRelease(s.createPendingPayouts(1)[0]))
	s.execSQL("delete from simulator_transfers") // its report is empty
	returns := &wrappedRail{Rail: s.rail, able: &rail.Capabilities{ReportsReturnsOnly: true}}
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

// reporting is a rail without reports for some days that counts the requests.
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

func TestReportsAreFetchedForEveryPastDay(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	require.NoError(t, s.runRelease(job))
	var paid time.Time
	require.NoError(t, s.pool.QueryRow(t.Context(), "update payout_attempts set started_at = (select min(created_at) from simulator_transfers) - interval '3 days' returning started_at + interval '3 days'").Scan(&paid))
	paid = paid.UTC().Truncate(24 * time.Hour)
	name := func(days int) string { return paid.AddDate(0, 0, days).Format(time.DateOnly) }
	from := &reporting{Rail: s.rail, none: map[string]bool{name(-2): true}}
	fetch := &fetchReports{service: s.Service, rail: from, log: slog.New(slog.DiscardHandler)}

	require.NoError(t, fetch.applyReportsUntil(t.Context(), paid.AddDate(0, 0, 1)))
	require.Equal(t, []string{name(-3), name(-2), name(-1)}, from.asked, "a day is not over at its last minute")
	from.asked = nil
	require.NoError(t, fetch.applyReportsUntil(t.Context(), paid.AddDate(0, 0, 1).Add(reportDelay)))
	require.Equal(t, []string{name(-2), name(0)}, from.asked, "each day is taken once")
	require.Equal(t, "reconciled", s.readPayout(job).Status)
	rows := s.CountRows()
	from.asked = nil
	require.NoError(t, fetch.applyReportsUntil(t.Context(), paid.AddDate(0, 0, 1).Add(reportDelay)))
	require.Equal(t, []string{name(-2)}, from.asked)
	require.Equal(t, rows, s.CountRows(), "asking again changes nothing")

	from.asked = nil
	require.NoError(t, fetch.applyReportsUntil(t.Context(), paid.AddDate(0, 0, 9).Add(reportDelay)))
	from.asked = nil
	require.NoError(t, fetch.applyReportsUntil(t.Context(), paid.AddDate(0, 0, 9).Add(reportDelay)))
	require.Empty(t, from.asked, "a day that the rail never reported is given up")
}

// unreporting is a rail without any report, or whose reports fail.
type unreporting struct {
	rail.Rail

	able rail.Capabilities
	err  error
}

func (u *unreporting) Capabilities() rail.Capabilities { return u.able }

// Report implements rail.Rail.
func (u *unreporting) Report(context.Context, time.Time, func(rail.Line) error) error { return u.err }

func TestSilentRailOpensMissingExceptions(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	require.NoError(t, s.runRelease(job))
	work := func(by rail.Rail) error {
		fetch := &fetchReports{service: s.Service, rail: by, log: slog.New(slog.DiscardHandler)}
		return fetch.Work(t.Context(), &river.Job[FetchReports]{JobRow: &rivertype.JobRow{CreatedAt: s.Now()}})
	}
	const open = "reconciliation_exceptions where kind = 'missing' and closed_at is null and report_id is null"
	day, never := 24*time.Hour, &unreporting{Rail: s.rail, able: rail.Capabilities{SettlementDelay: 24 * time.Hour}, err: rail.ErrNoReport}
	s.AdvanceClock(5*day - time.Hour)
	require.NoError(t, work(never))
	require.Zero(t, s.countRows(open), "the day of settlement and the days of grace are not over")
	s.AdvanceClock(2 * time.Hour)
	require.NoError(t, work(&unreporting{Rail: s.rail, able: rail.Capabilities{ReportsReturnsOnly: true}, err: rail.ErrNoReport}))
	require.Zero(t, s.countRows(open), "its reports confirm nothing")
	s.execSQL("update payout_attempts set started_at = started_at - interval '3 days'")
	broken := &unreporting{Rail: s.rail, able: never.able, err: rail.ErrInvalidReport}
	require.ErrorIs(t, work(broken), rail.ErrInvalidReport)
	require.Equal(t, 1, s.countRows(open), "also where its reports are broken")
	require.NoError(t, work(never))
	require.Equal(t, 1, s.countRows(open))
	s.execSQL("update reconciliation_exceptions set closed_at = now(), closed_by = 'olive', closed_reason = 'It is late.'")
	require.NoError(t, work(never))
	require.Zero(t, s.countRows(open), "what was closed stays closed")
}

// newer is the rail that replaced another one.
type newer struct{ rail.Rail }

func (*newer) Name() string { return "newer" }

func TestPayoutsOfAFormerRailAreMissing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	require.NoError(t, s.runRelease(s.createPendingPayouts(1)[0]))
	fetch := &fetchReports{service: s.Service, rail: &newer{s.rail}, log: slog.New(slog.DiscardHandler)}
	s.AdvanceClock(maxReportDelay - time.Hour)
	require.NoError(t, fetch.findMissing(t.Context()))
	require.Zero(t, s.countRows("reconciliation_exceptions"))
	s.AdvanceClock(2 * time.Hour)
	require.NoError(t, fetch.findMissing(t.Context()))
	require.Equal(t, 1, s.countRows("reconciliation_exceptions where kind = 'missing' and rail = $1", s.rail.Name()))
}

func TestRailWithoutMissingPayoutsRaisesNoAlarm(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var out bytes.Buffer
	fetch := &fetchReports{service: s.Service, rail: s.rail, log: slog.New(slog.NewTextHandler(&out, nil))}
	require.NoError(t, fetch.findMissing(t.Context()))
	require.Empty(t, out.String())
}
