// Package jobs runs background work on River: matching, account checks, payout release,
// feed polling, webhook delivery and sweeps. Every worker may run twice; running twice
// has no further effect.
//
//	kind                  queue            what it does                           when it fails
//	evaluate_occurrences  matching         matches occurrences to policies in     retried; the facts are in tables
//	                                       slices
//	evaluate_policies     matching         decides some policies of an occurrence retried
//	                                       again
//	decide_slices         slices           decides slices of large matchings      a slice that fails is attempted again and
//	                                                                              halved; the sweep re-enqueues the job
//	verify_payout_method  account_checks   asks the rail about an account         the sweep re-enqueues it while unchecked
//	reevaluate_payouts    account_checks   selects another account for unpaid     retried
//	                                       payouts
//	release_payout        payouts          pays through the rail                  the sweep re-enqueues it while due
//	release_batch         release_batches  pays all due payouts, on a rail that   the sweep releases alone what stays due
//	                                       accepts batches or groups
//	write_files           sweeps           writes a bank's payment files          the next period retries
//	delete_files          sweeps           removes documents without a record     retried; nothing else refers to them
//	poll_feed             feeds            reads a hazard feed                    the next period retries
//	deliver_endpoint      webhooks         delivers an endpoint's events          a sweep starts another
//	rescue_jobs           rescues          requeues the jobs of dead workers      the next period retries
//	sweep                 sweeps           moves due work, one kind per job, and  the next period retries
//	                                       re-enqueues lost jobs
//
// A transaction inserts its jobs into River itself; there is no outbox of requests that
// another transaction moves to the queue. The writes that happen most carry no job at all:
// a quote and a bind enqueue none, and a slice of a thousand claims at most one where the
// rail takes batches. For the others, such as recording an account, an outbox moved by
// hundreds would take half of the processor time (450 against 1,050 microseconds a job)
// and a third more write-ahead log (1,150 against 890 bytes), and begin the job later
// (BenchmarkJobRequest).
//
// In every worker process the relay also numbers committed events; see
// model.Service.Relay.
package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"github.com/uptrace/bun"

	"parapet/model/claims/adjudication"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// Queue implements model.Queue on River: jobs are inserted in the domain's own
// transaction.
type Queue struct{ client *river.Client[pgx.Tx] }

// Schema is the Postgres schema of River's tables.
const Schema = "river"

// NewQueue returns a queue that only inserts jobs.
func NewQueue(pool *pgxpool.Pool) (*Queue, error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: Schema})
	if err != nil {
		return nil, fmt.Errorf("river client: %w", err)
	}
	return &Queue{client}, nil
}

// errNoTransaction reports an insert outside a transaction, where the job could exist
// without its cause.
var errNoTransaction = errors.New("jobs: the connection is not inside a transaction")

// Insert implements model.Queue.
func (q *Queue) Insert(ctx context.Context, conn bun.Conn, jobs []store.Job) error {
	var usual, unique []river.InsertManyParams
	place := traceMetadata(ctx)
	for _, job := range jobs {
		opts := optionsOf(job.Kind())
		opts.Metadata = place
		switch job := job.(type) {
		case adjudication.DecideSlices:
			opts.UniqueOpts = uniqueWhileUnfinished
		case webhooks.DeliverEndpoint:
			if job.Failing {
				opts.Queue = queueFailing
			}
		case payouts.ReleasePayout:
			if job.HighPriority {
				opts.Priority = priorityHigh
			}
			if job.Requeued {
				opts.UniqueOpts = uniqueWhileUnfinished
			}
		case payouts.ReleaseBatch:
			if job.Requeued {
				opts.UniqueOpts = uniqueWhileUnfinished
			}
		}
		if opts.UniqueOpts.ByArgs {
			unique = append(unique, river.InsertManyParams{Args: job, InsertOpts: opts})
		} else {
			usual = append(usual, river.InsertManyParams{Args: job, InsertOpts: opts})
		}
	}
	return conn.Raw(func(driver any) error {
		pg := driver.(*stdlib.Conn).Conn() //nolint:forcetypeassert // bun runs on pgx; see cmd
		if pg.PgConn().TxStatus() != 'T' {
			return errNoTransaction
		}
		return q.insertJobs(ctx, domainTx{pg}, usual, unique)
	})
}

// uniqueWhileUnfinished allows one unfinished job with the same arguments.
var uniqueWhileUnfinished = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
}}

// insertJobs inserts usual jobs with the fast method, which fails on a second unique job,
// and unique jobs with the method that ignores duplicates.
func (q *Queue) insertJobs(ctx context.Context, tx domainTx, usual, unique []river.InsertManyParams) error {
	if len(usual) > 0 {
		if _, err := q.client.InsertManyFastTx(ctx, tx, usual); err != nil {
			return err
		}
	}
	if len(unique) > 0 {
		if _, err := q.client.InsertManyTx(ctx, tx, unique); err != nil {
			return err
		}
	}
	return nil
}

// domainTx lets River write in the transaction that bun began on a connection. Only bun
// ends it.
type domainTx struct{ conn *pgx.Conn }

var errDomainTx = errors.New("jobs: the transaction belongs to the domain")

// withStatementCache makes pgx prepare River's statements, whose texts are constant.
func withStatementCache(args []any) []any {
	return append([]any{pgx.QueryExecModeCacheStatement}, args...)
}

func (j domainTx) Begin(context.Context) (pgx.Tx, error) { return nil, errDomainTx }
func (j domainTx) Commit(context.Context) error          { return errDomainTx }
func (j domainTx) Rollback(context.Context) error        { return errDomainTx }
func (j domainTx) LargeObjects() pgx.LargeObjects        { return pgx.LargeObjects{} }
func (j domainTx) Conn() *pgx.Conn                       { return j.conn }

func (j domainTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	return j.conn.CopyFrom(ctx, table, columns, rows)
}

func (j domainTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	return j.conn.SendBatch(ctx, b)
}

func (j domainTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	return j.conn.Prepare(ctx, name, sql)
}

func (j domainTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return j.conn.Exec(ctx, sql, withStatementCache(args)...)
}

func (j domainTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return j.conn.Query(ctx, sql, withStatementCache(args)...)
}

func (j domainTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return j.conn.QueryRow(ctx, sql, withStatementCache(args)...)
}
