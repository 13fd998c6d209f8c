package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/model/operations"
)

// CountJobs counts the unfinished jobs and those discarded in the last day.
func CountJobs(ctx context.Context, pool *pgxpool.Pool) ([]operations.JobCount, error) {
	rows, err := pool.Query(ctx, `select queue, kind, state::text, count(*), greatest(0, extract(epoch from now() - min(scheduled_at)))::bigint
		from `+jobTable+` where state in ('available', 'pending', 'retryable', 'running', 'scheduled')
			or state = 'discarded' and finalized_at > now() - interval '1 day'
		group by 1, 2, 3 order by 1, 2, 3`)
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	depths, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d operations.JobCount, err error) {
		var seconds int64
		err = row.Scan(&d.Queue, &d.Kind, &d.State, &d.Count, &seconds)
		d.Overdue = time.Duration(seconds) * time.Second
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("count jobs: %w", err)
	}
	return depths, nil
}
