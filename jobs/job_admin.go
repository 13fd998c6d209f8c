package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/uptrace/bun"

	"parapet/jobs/fetch"
	"parapet/model/operations"
)

// JobAdmin implements model.JobAdmin on River.
type JobAdmin struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
}

// NewJobAdmin returns the administration of a queue's jobs.
func (q *Queue) NewJobAdmin(pool *pgxpool.Pool) *JobAdmin { return &JobAdmin{pool, q.client} }

var jobTable = pgx.Identifier{Schema, "river_job"}.Sanitize()

// Counts implements model.JobAdmin.
func (a *JobAdmin) Counts(ctx context.Context) ([]operations.JobCount, error) {
	return CountJobs(ctx, a.pool)
}

// Failing implements model.JobAdmin.
func (a *JobAdmin) Failing(ctx context.Context) ([]operations.FailingJobs, error) {
	rows, err := a.pool.Query(ctx, `select kind, count(*), (array_agg(errors[cardinality(errors)]->>'error' order by attempted_at desc))[1], max(attempted_at)
		from `+jobTable+` where errors is not null and cardinality(errors) > 0 and state in ('available', 'retryable', 'discarded', 'scheduled', 'running')
		group by kind order by count(*) desc, kind`)
	if err != nil {
		return nil, fmt.Errorf("read failing jobs: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (f operations.FailingJobs, err error) {
		err = row.Scan(&f.Kind, &f.Count, &f.LastError, &f.LastAt)
		f.LastError = firstLine(f.LastError)
		return f, err
	})
}

// maxErrorText limits the shown text of an error, in bytes.
const maxErrorText = 300

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line[:min(len(line), maxErrorText)], "")
}

// jobFilterSQL leaves out the completed jobs of periodic kinds unless they are asked for:
// there are thousands of them.
const jobFilterSQL = ` where ($1::bigint[] is not null or $3 <> '' or $4 <> '' or state <> 'completed' or kind not in ('sweep', 'rescue_jobs', 'check_invariants', 'fetch_reports', 'poll_feed')) and ($1::bigint[] is null or id = any($1)) and ($2 = '' or queue = $2) and ($3 = '' or kind = $3) and ($4 = '' or state::text = $4)`

func filterArgs(f operations.JobFilter, more ...any) []any {
	var ids []int64
	for _, text := range f.IDs {
		id, _ := strconv.ParseInt(text, 10, 64) // validated by model
		ids = append(ids, id)
	}
	return append([]any{ids, f.Queue, f.Kind, f.State}, more...)
}

// List implements model.JobAdmin.
func (a *JobAdmin) List(ctx context.Context, f operations.JobFilter, before, most int64) ([]operations.QueuedJob, error) {
	rows, err := a.pool.Query(ctx, `select id, kind, queue, state::text, args, attempt, max_attempts, created_at, scheduled_at, finalized_at,
			errors[cardinality(errors)]->>'error' from `+jobTable+jobFilterSQL+` and ($5 = 0 or id < $5) order by id desc limit $6`, filterArgs(f, before, most)...)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (j operations.QueuedJob, err error) {
		var id int64
		err = row.Scan(&id, &j.Kind, &j.Queue, &j.State, &j.Args, &j.Attempt, &j.MaxAttempts, &j.CreatedAt, &j.ScheduledAt, &j.FinalizedAt, &j.LastError)
		if err != nil {
			return j, err
		}
		j.ID = strconv.FormatInt(id, 10)
		if j.LastError != nil {
			*j.LastError = firstLine(*j.LastError)
		}
		j.Args, err = redactArguments(j.Args)
		return j, err
	})
}

// Count implements model.JobAdmin.
func (a *JobAdmin) Count(ctx context.Context, f operations.JobFilter, most int64) (n int, err error) {
	err = a.pool.QueryRow(ctx, "select count(*) from (select from "+jobTable+jobFilterSQL+" limit $5) as counted", filterArgs(f, most)...).Scan(&n)
	return n, err
}

// redactArguments returns a job's arguments without possible secrets: it drops the query,
// fragment and user of each address.
func redactArguments(args []byte) ([]byte, error) {
	var members map[string]any
	if err := json.Unmarshal(args, &members); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	for name, value := range members {
		text, ok := value.(string)
		if !ok || !strings.Contains(text, "://") {
			continue
		}
		members[name] = fetch.DisplayAddress(text)
	}
	return json.Marshal(members, json.Deterministic(true))
}

// changeableStates lists the job states to which each verb applies.
var changeableStates = map[operations.JobVerb]string{
	operations.RetryJobs:  "('available', 'scheduled', 'retryable', 'cancelled', 'discarded', 'completed')",
	operations.CancelJobs: "('available', 'scheduled', 'retryable', 'pending', 'running')",
	operations.SnoozeJobs: "('available', 'scheduled', 'retryable')",
}

// Change implements model.JobAdmin. River's own functions retry and cancel, so that River
// notifies its workers.
func (a *JobAdmin) Change(ctx context.Context, conn bun.Conn, in operations.JobChange) (done operations.JobsChanged, err error) {
	err = conn.Raw(func(driver any) error {
		tx := domainTx{driver.(*stdlib.Conn).Conn()} //nolint:forcetypeassert // bun runs on pgx; see cmd
		var ids []int64
		if ids, done.Skipped, err = a.lockJobs(ctx, tx, in); err != nil {
			return err
		}
		done.Matched = len(ids) + done.Skipped
		if in.DryRun {
			return nil
		}
		done.Changed = len(ids)
		return a.changeJobs(ctx, tx, in.Verb, in.Until, ids)
	})
	return done, err
}

// lockJobs locks the matching jobs and counts the running releases among them.
func (a *JobAdmin) lockJobs(ctx context.Context, tx domainTx, in operations.JobChange) (ids []int64, kept int, err error) {
	rows, err := tx.Query(ctx, `select id, kind = 'release_payout' and state = 'running' from `+jobTable+jobFilterSQL+
		` and state in `+changeableStates[in.Verb]+` order by id limit $5 for update`, filterArgs(in.Filter, operations.MaxJobs)...)
	if err != nil {
		return nil, 0, fmt.Errorf("find jobs: %w", err)
	}
	var id int64
	var underway bool
	_, err = pgx.ForEachRow(rows, []any{&id, &underway}, func() error {
		if underway {
			kept++
		} else {
			ids = append(ids, id)
		}
		return nil
	})
	return ids, kept, err
}

func (a *JobAdmin) changeJobs(ctx context.Context, tx domainTx, verb operations.JobVerb, until time.Time, ids []int64) error {
	if verb == operations.SnoozeJobs {
		_, err := tx.Exec(ctx, `update `+jobTable+` set state = 'scheduled', scheduled_at = $2 where id = any($1)`, ids, until)
		return err
	}
	for _, id := range ids {
		var err error
		if verb == operations.RetryJobs {
			_, err = a.client.JobRetryTx(ctx, tx, id)
		} else {
			_, err = a.client.JobCancelTx(ctx, tx, id)
		}
		if err != nil {
			return fmt.Errorf("%s job %d: %w", verb, id, err)
		}
	}
	return nil
}
