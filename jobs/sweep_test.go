package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

// TestOverduePayoutMovesWhileQuotesCannotExpire holds up the expiry of quotes for as
// long as a payout, whose worker died, is overdue.
func TestOverduePayoutMovesWhileQuotesCannotExpire(t *testing.T) {
	t.Parallel()
	s := open(t)
	job := s.fleet(1)[0]
	s.Quote("quake-circle", nil)
	order, _, err := s.Service.BeginRelease(t.Context(), IdentityOf(s.rail), job.Partner, job.ID)
	require.NoError(t, err)
	require.NotNil(t, order)
	s.exec("delete from river.river_job")
	s.After(25 * time.Hour)
	gate, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = gate.Exec(t.Context(), "lock table quotes in exclusive mode")
	require.NoError(t, err)
	s.start()
	s.eventually(func() bool { return s.read(job).Status == "released" }, "the payout is released")
	require.Equal(t, 1, s.count("quotes where status = 'priced'"), "quotes have not expired meanwhile")
	require.Equal(t, 1, s.count("river.river_job where kind = 'release_payout' and priority = $1", priorityAhead), "and it went ahead of others")
	require.NoError(t, gate.Commit(t.Context()))
	s.eventually(func() bool { return s.count("quotes where status = 'priced'") == 0 }, "quotes expire")
}

// BenchmarkSweepBacklog has a payout, whose worker died, beside 200,000 quotes that have
// expired.
func BenchmarkSweepBacklog(b *testing.B) {
	const quotes = 200_000
	s := openWith(b, atOnce, modeltest.Unchecked())
	job := s.fleet(1)[0]
	s.Quote("quake-circle", nil)
	s.exec(`insert into quotes select copy.* from (select q from quotes q where status = 'priced' limit 1) as one (q), generate_series(1, $1) as n,
		lateral jsonb_populate_record(one.q, jsonb_build_object('id', gen_random_uuid(), 'n', n)) as copy`, quotes-1)
	_, _, err := s.Service.BeginRelease(b.Context(), IdentityOf(s.rail), job.Partner, job.ID)
	require.NoError(b, err)
	s.exec("delete from river.river_job")
	s.exec("vacuum analyze quotes")
	s.After(25 * time.Hour)
	began := time.Now()
	s.start()
	s.eventually(func() bool { return s.read(job).Status == "released" }, "the payout is released")
	moved := time.Since(began)
	left := s.count("quotes where status = 'priced'")
	for s.count("quotes where status = 'priced'") > 0 {
		require.NoError(b, s.Service.SweepDue(b.Context(), "quotes"))
	}
	all := time.Since(began)
	for b.Loop() {
	}
	require.Positive(b, left, "the payout moves while quotes are left")
	b.ReportMetric(moved.Seconds(), "payout-s")
	b.ReportMetric(all.Seconds(), "quotes-s")
	b.ReportMetric(quotes/all.Seconds(), "quotes/s")
}
