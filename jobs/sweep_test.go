package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestOverduePayoutMovesWhileQuotesCannotExpire blocks the expiry of quotes while a
// payout, whose worker ended, is overdue.
func TestOverduePayoutMovesWhileQuotesCannotExpire(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	job := s.createPendingPayouts(1)[0]
	s.Quote("quake-circle", nil)
	order, _, err := s.Service.Releases.BeginRelease(t.Context(), IdentityOf(s.rail), job.Partner, job.ID)
	require.NoError(t, err)
	require.NotNil(t, order)
	s.execSQL("delete from river.river_job")
	s.AdvanceClock(25 * time.Hour)
	gate, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = gate.Exec(t.Context(), "lock table quotes in exclusive mode")
	require.NoError(t, err)
	s.startWorkers()
	s.requireEventually(func() bool { return s.readPayout(job).Status == "released" }, "the payout is released")
	require.Equal(t, 1, s.countRows("quotes where status = 'priced'"), "quotes have not expired meanwhile")
	require.Equal(t, 1, s.countRows("river.river_job where kind = 'release_payout' and priority = $1", priorityHigh), "and it went ahead of others")
	require.NoError(t, gate.Commit(t.Context()))
	s.requireEventually(func() bool { return s.countRows("quotes where status = 'priced'") == 0 }, "quotes expire")
}

// BenchmarkSweepBacklog has a payout of a dead worker and 200,000 expired quotes.
func BenchmarkSweepBacklog(b *testing.B) {
	const quotes = 200_000
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	job := s.createPendingPayouts(1)[0]
	s.Quote("quake-circle", nil)
	s.execSQL(`insert into quotes select copy.* from (select q from quotes q where status = 'priced' limit 1) as one (q), generate_series(1, $1) as n,
		lateral jsonb_populate_record(one.q, jsonb_build_object('id', gen_random_uuid(), 'n', n)) as copy`, quotes-1)
	_, _, err := s.Service.Releases.BeginRelease(b.Context(), IdentityOf(s.rail), job.Partner, job.ID)
	require.NoError(b, err)
	s.execSQL("delete from river.river_job")
	s.execSQL("vacuum analyze quotes")
	s.AdvanceClock(25 * time.Hour)
	began := time.Now()
	s.startWorkers()
	s.requireEventually(func() bool { return s.readPayout(job).Status == "released" }, "the payout is released")
	moved := time.Since(began)
	left := s.countRows("quotes where status = 'priced'")
	for s.countRows("quotes where status = 'priced'") > 0 {
		require.NoError(b, s.Service.Operations.SweepDue(b.Context(), "quotes"))
	}
	all := time.Since(began)
	for b.Loop() {
	}
	require.Positive(b, left, "the payout moves while quotes are left")
	b.ReportMetric(moved.Seconds(), "payout-s")
	b.ReportMetric(all.Seconds(), "quotes-s")
	b.ReportMetric(quotes/all.Seconds(), "quotes/s")
}
