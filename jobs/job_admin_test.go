package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/operations"
)

// changed returns the result of an operator's change of jobs, which must succeed.
func (s *fixture) changed(in operations.JobChange) operations.JobsChanged {
	s.t.Helper()
	in.Reason = "They pile up."
	done, err := s.Service.Operations.ChangeJobs(s.t.Context(), s.Operator, in)
	require.NoError(s.t, err)
	return *done
}

func TestACancelledJobLosesNoPayout(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	fleet := s.createPendingPayouts(3)
	s.execSQL("update river.river_job set state = 'running', attempted_at = now() where id = (select min(id) from river.river_job where kind = 'release_payout')")
	waiting := operations.JobFilter{Kind: "release_payout"}
	require.Equal(t, operations.JobsChanged{Matched: 3, Skipped: 1}, s.changed(operations.JobChange{Verb: operations.CancelJobs, Filter: waiting, DryRun: true}))
	require.Zero(t, s.countRows("audit_entries"), "nothing was done")
	require.Equal(t, operations.JobsChanged{Matched: 3, Changed: 2, Skipped: 1}, s.changed(operations.JobChange{Verb: operations.CancelJobs, Filter: waiting}))
	require.Equal(t, 2, s.countRows("river.river_job where kind = 'release_payout' and state = 'cancelled'"))
	require.Equal(t, 1, s.countRows("audit_entries where reason = 'They pile up. (2 jobs, kind release_payout)' and outcome = 'done' and subject is null"))

	s.execSQL("delete from river.river_job where state = 'running'") // its worker died
	s.startWorkers()
	s.AdvanceClock(2 * time.Minute)
	for _, job := range fleet {
		s.requireEventually(func() bool { return s.readPayout(job).Status == "released" }, "the sweep asks again")
		require.Equal(t, 1, s.countTransfers(job.ID, rail.Accepted))
	}
}

func TestJobsAreListedAndSnoozed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.createPendingPayouts(2)
	s.execSQL(`insert into river.river_job (kind, queue, state, args, max_attempts, errors, attempted_at) values ('poll_feed', 'feeds', 'retryable',
		'{"source": "usgs", "url": "https://me:secret@feeds.example/all?key=secret"}', 5, array['{"error": "it failed\nat secret.go"}'::jsonb], now())`)
	page, err := s.Service.Operations.ListJobs(t.Context(), s.Operator, operations.JobFilter{Kind: "poll_feed"}, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, page.Data, 1)
	require.JSONEq(t, `{"source": "usgs", "url": "https://feeds.example/all"}`, string(page.Data[0].Args))
	require.Equal(t, "it failed", *page.Data[0].LastError)
	failing, err := s.Service.Operations.FailingJobs(t.Context(), s.Operator)
	require.NoError(t, err)
	require.Len(t, failing, 1)
	require.Equal(t, "poll_feed", failing[0].Kind)
	first, err := s.Service.Operations.ListJobs(t.Context(), s.Operator, operations.JobFilter{Kind: "release_payout"}, store.PageRequest{Limit: 1})
	require.NoError(t, err)
	second, err := s.Service.Operations.ListJobs(t.Context(), s.Operator, operations.JobFilter{Kind: "release_payout"}, store.PageRequest{Limit: 1, Cursor: *first.NextCursor})
	require.NoError(t, err)
	require.NotEqual(t, first.Data[0].ID, second.Data[0].ID)
	require.False(t, second.HasMore)

	until := s.Now().Add(time.Hour)
	require.Equal(t, 1, s.changed(operations.JobChange{Verb: operations.SnoozeJobs, Filter: operations.JobFilter{IDs: []string{page.Data[0].ID}}, Until: until}).Changed)
	require.Equal(t, 1, s.countRows("river.river_job where kind = 'poll_feed' and state = 'scheduled' and scheduled_at > now() + interval '59 minutes'"))
	require.Equal(t, 1, s.changed(operations.JobChange{Verb: operations.RetryJobs, Filter: operations.JobFilter{Kind: "poll_feed"}}).Changed)
	require.Equal(t, 1, s.countRows("river.river_job where kind = 'poll_feed' and state = 'available'"))
	for _, wrong := range []operations.JobChange{
		{Verb: operations.RetryJobs, Reason: "r"},
		{Verb: operations.RetryJobs, Filter: operations.JobFilter{State: "asleep"}, Reason: "r"},
		{Verb: operations.RetryJobs, Filter: operations.JobFilter{IDs: []string{"x"}}, Reason: "r"},
		{Verb: operations.RetryJobs, Filter: operations.JobFilter{Kind: "sweep"}},
		{Verb: operations.SnoozeJobs, Filter: operations.JobFilter{Kind: "sweep"}, Reason: "r", Until: s.Now()},
	} {
		_, err := s.Service.Operations.ChangeJobs(t.Context(), s.Operator, wrong)
		require.Equal(t, apperr.CodeValidationFailed, apperr.CodeOf(err))
	}
}
