package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/payouts/controls"
)

// resumption returns the last run that resumes releases.
func (s *fixture) resumption() controls.ReleaseResumption {
	s.t.Helper()
	runs, err := s.Service.Controls.ReleaseResumptions(s.t.Context(), s.Operator, 1)
	require.NoError(s.t, err)
	require.Len(s.t, runs, 1)
	return runs[0]
}

// TestResumptionGoesOnWhereItFailed fails the second batch of a run, as a crash would:
// the run shows how many payouts are due, the next turn continues with the rest, and a
// stop in between leaves the rest waiting.
func TestResumptionGoesOnWhereItFailed(t *testing.T) {
	t.Parallel()
	s := newFixtureWith(t, noWait, modeltest.WithoutChecks())
	fleet := s.createPendingPayoutsOf(205, 1)
	stop := controls.StopRequest{Reason: "The bank called."}
	_, err := s.Service.Controls.StopReleases(t.Context(), s.Operator, stop)
	require.NoError(t, err)
	s.execSQL("update payouts set next_attempt_at = null")
	resume := func() controls.ReleaseResumption {
		resumed, err := s.Service.Releases.ResumeReleases(t.Context(), s.Operator, controls.ResumeRequest{Reason: "All is well."})
		require.NoError(t, err)
		return *resumed.Resumption
	}
	require.Equal(t, len(fleet), resume().Total)
	require.Equal(t, 1, s.countRows("river.river_job where kind = 'sweep' and args ->> 'work' = 'stopped_payouts'"), "its job")
	s.execSQL("create function fail() returns trigger language plpgsql as 'begin raise exception ''no such batch''; end'")
	s.execSQL("create trigger fail before update on payouts for each row when (new.id = '" + s.lastPayout("acme") + "') execute function fail()")
	require.ErrorContains(t, s.Service.Operations.SweepDue(t.Context(), "stopped_payouts"), "no such batch")
	run := s.resumption()
	require.Equal(t, "resuming", run.State)
	require.Equal(t, 200, run.Done)
	require.Equal(t, run.Done, s.countRows("payouts where next_attempt_at is not null"))
	require.Equal(t, 1, s.countRows("payouts where next_attempt_at is not null and partner = 'globex'"), "the other partner's is among the first")

	_, err = s.Service.Controls.StopReleases(t.Context(), s.Operator, stop)
	require.NoError(t, err)
	s.execSQL("drop trigger fail on payouts")
	require.NoError(t, s.Service.Operations.SweepDue(t.Context(), "stopped_payouts"))
	require.Equal(t, "stopped", s.resumption().State)
	require.Equal(t, 200, s.resumption().Done)
	require.Equal(t, 6, s.countRows("payouts where next_attempt_at is null"), "the rest waits")

	require.Equal(t, 6, resume().Total)
	require.NoError(t, s.Service.Operations.SweepDue(t.Context(), "stopped_payouts"))
	run = s.resumption()
	require.Equal(t, "completed", run.State)
	require.Equal(t, 6, run.Done)
	require.Equal(t, len(fleet), s.countRows("payouts where next_attempt_at is not null"))
	require.Equal(t, len(fleet), s.countRows("events where type = 'payout.updated'"), "one event each")
}

// lastPayout returns the id of the last payout of a partner, as the database stores it.
func (s *fixture) lastPayout(partner string) (id string) {
	s.t.Helper()
	require.NoError(s.t, s.pool.QueryRow(s.t.Context(), "select id::text from payouts where partner = $1 order by id desc limit 1", partner).Scan(&id))
	return id
}
