// Package jobs runs background work on River: matching, account checks, payout release,
// feed polling, webhook delivery and sweeps. Every worker may run twice; running twice
// has no further effect.
//
//	kind                  queue     what it does                           when it fails
//	evaluate_occurrences  matching  matches quakes and storms to policies  tried again; the facts are in tables
//	evaluate_policies     matching  decides policies of a slice that failed  split until one policy fails alone, which is tried again
//	verify_payout_method  accounts  asks the rail about an account         the sweep asks again while it is unchecked
//	reevaluate_payouts    accounts  finds refused payouts another account  tried again
//	release_payout        payouts   pays through the rail                  the sweep asks again while it is due
//	release_slice         slices    pays all that is due, where the rail   the sweep asks again while it is due
//	                                takes slices
//	write_files           sweeps    writes a bank's files                  the next period tries again
//	delete_files          sweeps    removes documents without a record     tried again; nothing else knows of them
//	poll_feed             feeds     reads a hazard feed                    the next period tries again
//	drain_endpoint        webhooks   sends an endpoint its events           a sweep starts another
//	rescue_jobs           rescues   brings back jobs of dead workers       the next period tries again
//	sweep                 sweeps    moves what is due, one kind of work    the next period tries again
//	                                each, and asks again for lost jobs
//
// Beside the jobs, in every worker process, the relay gives committed events their
// numbers; see model.Service.Relay.
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

	"parapet/model"
)

// Queue is model.Queue on River: jobs join the domain's own transaction.
type Queue struct{ client *river.Client[pgx.Tx] }

// Schema is where River's tables live.
const Schema = "river"

// NewQueue makes a queue that only inserts.
func NewQueue(pool *pgxpool.Pool) (*Queue, error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: Schema})
	if err != nil {
		return nil, fmt.Errorf("river client: %w", err)
	}
	return &Queue{client}, nil
}

// errNoTransaction says that a job was asked for outside a transaction, where
// it could exist without its cause.
var errNoTransaction = errors.New("jobs: the connection is not inside a transaction")

// Insert implements model.Queue.
func (q *Queue) Insert(ctx context.Context, conn bun.Conn, jobs []model.Job) error {
	var usual, unique []river.InsertManyParams
	place := traceMetadata(ctx)
	for _, job := range jobs {
		opts := optionsOf(job.Kind())
		opts.Metadata = place
		switch job := job.(type) {
		case model.DeliverEndpoint:
			if job.Failing {
				opts.Queue = queueFailing
			}
		case model.ReleasePayout:
			if job.HighPriority {
				opts.Priority = priorityHigh
			}
			if job.Requeued {
				opts.UniqueOpts = uniqueWhileUnfinished
				unique = append(unique, river.InsertManyParams{Args: job, InsertOpts: opts})
				continue
			}
		}
		usual = append(usual, river.InsertManyParams{Args: job, InsertOpts: opts})
	}
	return conn.Raw(func(driver any) error {
		pg := driver.(*stdlib.Conn).Conn() //nolint:forcetypeassert // bun runs on pgx; see cmd
		if pg.PgConn().TxStatus() != 'T' {
			return errNoTransaction
		}
		return q.insertJobs(ctx, domainTx{pg}, usual, unique)
	})
}

// uniqueWhileUnfinished lets a job exist once with the same arguments until it has ended.
var uniqueWhileUnfinished = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
}}

// insertJobs inserts usual jobs by the fast way, which fails on a second unique job, and
// unique ones by the way that ignores it.
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

// domainTx lets River write through the transaction that bun began on a
// connection. Bun alone ends it.
type domainTx struct{ conn *pgx.Conn }

var errDomainTx = errors.New("jobs: the transaction belongs to the domain")

// River's statements are constant, so they profit from being prepared.
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
