package jobs

import (
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
)

// markRunning inserts a job that a worker runs, and returns its id.
func (s *fixture) markRunning(worker string, attempt, attempts int) (id int64) {
	s.t.Helper()
	err := s.pool.QueryRow(s.t.Context(), `insert into `+jobTable+` (kind, args, queue, state, attempt, max_attempts, attempted_at, attempted_by)
		values ('delete_files', '{"keys": []}', 'sweeps', 'running', $2, $3, now(), array['an earlier one', $1]) returning id`, worker, attempt, attempts).Scan(&id)
	require.NoError(s.t, err)
	return id
}

func (s *fixture) runRescue() {
	s.t.Helper()
	require.NoError(s.t, (&rescueJobs{pool: s.pool, log: s.newLogger()}).Work(s.t.Context(), &river.Job[RescueJobs]{}))
}

// recordWorker records that a worker was alive some seconds ago.
func (s *fixture) recordWorker(worker string, ago float64) {
	s.t.Helper()
	_, err := (&workerPresence{s.pool, worker}).recordPresence(s.t.Context())
	require.NoError(s.t, err)
	s.execSQL("update job_workers set seen_at = seen_at - make_interval(secs => $2) where worker = $1", worker, ago)
}

func TestJobsOfADeadWorkerAreRescued(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.recordWorker("dead", 13)
	s.recordWorker("alive", 5)
	ofDead, ofAlive := s.markRunning("dead", 1, 25), s.markRunning("alive", 1, 25)
	single, exhausted := s.markRunning("dead", 1, 1), s.markRunning("dead", 3, 3)
	s.execSQL(`update `+jobTable+` set errors = array['{"error": "no database"}'::jsonb] where id = $1`, exhausted)
	available := func(id int64) bool {
		return s.countRows(jobTable+" where id = $1 and state = 'available' and scheduled_at <= now()", id) == 1
	}
	s.runRescue()
	require.False(t, available(ofDead), "a worker that is silent once may only have lost the database")
	s.execSQL("update job_workers set silent_since = silent_since - interval '9 seconds'")
	s.recordWorker("dead", 0)
	s.recordWorker("dead", 13)
	s.runRescue()
	require.False(t, available(ofDead), "it was alive meanwhile")
	s.execSQL("update job_workers set silent_since = silent_since - interval '9 seconds'")
	s.runRescue()
	require.True(t, available(ofDead))
	require.False(t, available(ofAlive))
	require.True(t, available(single), "one attempt more, because a worker's death is not the job's failure")
	require.False(t, available(exhausted))
	require.Equal(t, 1, s.countRows(jobTable+" where id = $1 and errors[1] ->> 'error' = 'its worker died'", ofDead))
	require.Equal(t, 1, s.countRows(jobTable+" where id = $1 and attempt = 1 and max_attempts = 2", single))
	s.execSQL("update "+jobTable+" set state = 'running', attempt = 2 where id = $1", single)
	s.runRescue()
	require.False(t, available(single), "a job that kills its workers ends")
	s.recordWorker("dead", 3700)
	s.runRescue()
	require.Equal(t, 1, s.countRows("job_workers"), "the dead are forgotten after an hour")
}

// TestRescuedJobIsWorkedByAnother makes a worker die and a live process take its job.
func TestRescuedJobIsWorkedByAnother(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.recordWorker("dead", 60)
	s.execSQL("update job_workers set silent_since = seen_at")
	job := s.markRunning("dead", 1, 25)
	s.startWorkers()
	s.requireEventually(func() bool { return s.countRows(jobTable+" where id = $1 and state = 'completed'", job) == 1 }, "another worker does it")
	s.requireEventually(func() bool {
		return s.countRows("job_workers where worker <> 'dead' and seen_at > now() - interval '1 minute'") == 1
	}, "which is alive")
}
