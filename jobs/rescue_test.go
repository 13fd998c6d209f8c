package jobs

import (
	"testing"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
)

// running inserts a job that a worker has, and returns its id.
func (s *shop) running(worker string, attempt, attempts int) (id int64) {
	s.t.Helper()
	err := s.pool.QueryRow(s.t.Context(), `insert into `+table+` (kind, args, queue, state, attempt, max_attempts, attempted_at, attempted_by)
		values ('delete_files', '{"keys": []}', 'sweeps', 'running', $2, $3, now(), array['an earlier one', $1]) returning id`, worker, attempt, attempts).Scan(&id)
	require.NoError(s.t, err)
	return id
}

func (s *shop) rescue() {
	s.t.Helper()
	require.NoError(s.t, (&rescueJobs{pool: s.pool, log: s.logger()}).Work(s.t.Context(), &river.Job[RescueJobs]{}))
}

// present records that a worker was alive some seconds ago.
func (s *shop) present(worker string, ago float64) {
	s.t.Helper()
	_, err := (&presence{s.pool, worker}).record(s.t.Context())
	require.NoError(s.t, err)
	s.exec("update job_workers set seen_at = seen_at - make_interval(secs => $2) where name = $1", worker, ago)
}

func TestJobsOfADeadWorkerAreRescued(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.present("dead", 13)
	s.present("alive", 5)
	ofDead, ofAlive := s.running("dead", 1, 25), s.running("alive", 1, 25)
	single, exhausted := s.running("dead", 1, 1), s.running("dead", 3, 3)
	s.exec(`update `+table+` set errors = array['{"error": "no database"}'::jsonb] where id = $1`, exhausted)
	available := func(id int64) bool {
		return s.count(table+" where id = $1 and state = 'available' and scheduled_at <= now()", id) == 1
	}
	s.rescue()
	require.False(t, available(ofDead), "a worker that is silent once may only have lost the database")
	s.exec("update job_workers set silent_since = silent_since - interval '9 seconds'")
	s.present("dead", 0)
	s.present("dead", 13)
	s.rescue()
	require.False(t, available(ofDead), "it was alive meanwhile")
	s.exec("update job_workers set silent_since = silent_since - interval '9 seconds'")
	s.rescue()
	require.True(t, available(ofDead))
	require.False(t, available(ofAlive))
	require.True(t, available(single), "one attempt more, because a worker's death is not the job's failure")
	require.False(t, available(exhausted))
	require.Equal(t, 1, s.count(table+" where id = $1 and errors[1] ->> 'error' = 'its worker died'", ofDead))
	require.Equal(t, 1, s.count(table+" where id = $1 and attempt = 1 and max_attempts = 2", single))
	s.exec("update "+table+" set state = 'running', attempt = 2 where id = $1", single)
	s.rescue()
	require.False(t, available(single), "a job that kills its workers ends")
	s.present("dead", 3700)
	s.rescue()
	require.Equal(t, 1, s.count("job_workers"), "the dead are forgotten after an hour")
}

// TestRescuedJobIsWorkedByAnother has a worker die that a live process replaces.
func TestRescuedJobIsWorkedByAnother(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.present("dead", 60)
	s.exec("update job_workers set silent_since = seen_at")
	job := s.running("dead", 1, 25)
	s.start()
	s.eventually(func() bool { return s.count(table+" where id = $1 and state = 'completed'", job) == 1 }, "another worker does it")
	s.eventually(func() bool {
		return s.count("job_workers where name <> 'dead' and seen_at > now() - interval '1 minute'") == 1
	}, "which is alive")
}
