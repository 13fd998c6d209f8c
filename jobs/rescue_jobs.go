package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
)

// A worker process records its presence every presenceInterval. A process silent for
// workerSilentAfter, and then for another workerDeadAfter, is dead: the second wait lets
// live processes write first after a database outage. The sum is far below rescueAfter,
// after which River itself requeues a dead worker's jobs.
const (
	presenceInterval  = 3 * time.Second
	workerSilentAfter = 12 * time.Second
	workerDeadAfter   = 8 * time.Second
	rescueInterval    = 5 * time.Second
)

// workerPresence records that a process works jobs.
type workerPresence struct {
	pool *pgxpool.Pool
	name string // of the River client; jobs record it in attempted_by
}

// recordPresence writes that the process is alive.
func (p *workerPresence) recordPresence(ctx context.Context) (time.Duration, error) {
	_, err := p.pool.Exec(ctx, "insert into job_workers (worker, seen_at) values ($1, clock_timestamp()) on conflict (worker) do update set seen_at = excluded.seen_at, silent_since = null", p.name)
	if err != nil {
		return 0, fmt.Errorf("record presence: %w", err)
	}
	return presenceInterval, nil
}

// RescueJobs makes the jobs of dead workers available again.
type RescueJobs struct{}

// Kind is the job's stable name.
func (RescueJobs) Kind() string { return "rescue_jobs" }

// rescueJobs makes the jobs of dead workers available again. A death counts as an
// attempt, so that a job that kills its workers ends; a job with a single attempt gets
// one more.
type rescueJobs struct {
	river.WorkerDefaults[RescueJobs]

	pool *pgxpool.Pool
	log  *slog.Logger
}

// Work implements river.Worker.
func (w *rescueJobs) Work(ctx context.Context, _ *river.Job[RescueJobs]) error {
	rows, err := w.pool.Query(ctx, `with silent as (
			update job_workers set silent_since = coalesce(silent_since, clock_timestamp()) where seen_at < clock_timestamp() - $1::interval returning worker, silent_since),
		dead as (select worker from silent where silent_since < clock_timestamp() - $2::interval)
		update `+jobTable+` set state = 'available', scheduled_at = clock_timestamp(), max_attempts = greatest(max_attempts, attempt + 1),
			errors = array_append(errors, jsonb_build_object('at', clock_timestamp(), 'attempt', attempt, 'error', 'its worker died', 'trace', ''))
		where state = 'running' and (attempt < max_attempts or coalesce(cardinality(errors), 0) = 0)
			and attempted_by[array_upper(attempted_by, 1)] in (select worker from dead)
		returning id`, workerSilentAfter, workerDeadAfter)
	if err != nil {
		return fmt.Errorf("rescue jobs: %w", err)
	}
	rescued, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("rescue jobs: %w", err)
	}
	if len(rescued) > 0 {
		w.log.WarnContext(ctx, "requeued the jobs of dead workers", "jobs", rescued)
	}
	_, err = w.pool.Exec(ctx, "delete from job_workers where seen_at < clock_timestamp() - interval '1 hour'")
	return err
}
