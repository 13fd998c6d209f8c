package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/operations"
)

func TestQueuesArePausedWithAReason(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.execSQL("insert into river.river_queue (name, updated_at) values ('feeds', now()) on conflict do nothing")
	change := func(queue string, paused bool, reason string) error {
		_, err := s.Service.Operations.ChangeQueue(s.t.Context(), s.Operator, operations.QueueChange{Queue: queue, Paused: paused, Reason: reason})
		return err
	}
	paused := func() bool {
		queues, err := s.Service.Operations.JobQueues(t.Context(), s.Operator)
		require.NoError(t, err)
		for _, queue := range queues {
			if queue.Name == "feeds" {
				return queue.PausedAt != nil
			}
		}
		require.Fail(t, "the queue is missing")
		return false
	}
	require.NoError(t, change("feeds", true, "The source is wrong."))
	require.True(t, paused())
	require.Equal(t, 1, s.countRows("audit_entries where reason = 'The source is wrong. (queue feeds)' and outcome = 'done'"))
	require.NoError(t, change("feeds", false, "It is right again."))
	require.False(t, paused())
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(change("none", true, "r")))
	require.Equal(t, apperr.CodeValidationFailed, apperr.CodeOf(change("feeds", true, " ")))
	_, err := s.Service.Operations.ChangeQueue(t.Context(), s.Acme, operations.QueueChange{Queue: "feeds", Reason: "r"})
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
	_, err = s.Service.Operations.JobQueues(t.Context(), s.Acme)
	require.Equal(t, apperr.CodeInsufficientScope, apperr.CodeOf(err))
}

func TestCompletedPeriodicJobsAreListedOnRequestOnly(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.execSQL(`insert into river.river_job (kind, queue, state, args, max_attempts, finalized_at) values ('sweep', 'sweeps', 'completed', '{}', 5, now()), ('sweep', 'sweeps', 'available', '{}', 5, null),
		('decide_slices', 'slices', 'completed', '{}', 5, now())`)
	for want, filters := range map[int][]operations.JobFilter{2: {{}, {Kind: "sweep"}, {State: "completed"}}, 1: {{Queue: "sweeps"}, {Kind: "sweep", State: "completed"}}} {
		for _, filter := range filters {
			page, err := s.Service.Operations.ListJobs(t.Context(), s.Operator, filter, store.PageRequest{})
			require.NoError(t, err)
			require.Len(t, page.Data, want, "%+v", filter)
		}
	}
}

// Every kind of job says what waits while it fails.
func TestFailingKindsAreExplained(t *testing.T) {
	t.Parallel()
	for kind := range insertOptions {
		require.NotEmpty(t, (&operations.FailingJobs{Kind: kind}).Explanation(), kind)
	}
}
