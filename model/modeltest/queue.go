package modeltest

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"parapet/model/claims/adjudication"
	"parapet/model/events/webhooks"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// jobsTable stores the enqueued jobs, so that a job exists if and only if its
// transaction was committed, as in production.
const jobsTable = `create table modeltest_jobs (
	ordinal bigint generated always as identity primary key,
	kind text not null,
	args json not null,
	done boolean not null default false)`

// Queue is model.Queue on a table of the test's database.
type Queue struct{}

// Insert implements model.Queue. It refuses outside a transaction.
func (Queue) Insert(ctx context.Context, conn bun.Conn, jobs []store.Job) error {
	err := conn.Raw(func(driver any) error {
		if driver.(*stdlib.Conn).Conn().PgConn().TxStatus() != 'T' { //nolint:forcetypeassert // bun runs on pgx
			return errors.New("modeltest: a job was asked for outside a transaction")
		}
		return nil
	})
	if err != nil {
		return err
	}
	kinds, args := make([]string, len(jobs)), make([]string, len(jobs))
	for i, job := range jobs {
		text, err := json.Marshal(job)
		if err != nil {
			return err
		}
		kinds[i], args[i] = job.Kind(), string(text)
	}
	_, err = conn.ExecContext(ctx, "insert into modeltest_jobs (kind, args) select * from unnest(?::text[], ?::json[])", pgdialect.Array(kinds), pgdialect.Array(args))
	if err != nil {
		return fmt.Errorf("record jobs: %w", err)
	}
	return nil
}

// nextJob returns the first open job after an ordinal, nil if there is none.
func (Queue) nextJob(ctx context.Context, pool *pgxpool.Pool, ordinal int64) (int64, store.Job, error) {
	var kind string
	var args []byte
	err := pool.QueryRow(ctx, "select ordinal, kind, args::text from modeltest_jobs where not done and ordinal > $1 order by ordinal limit 1", ordinal).
		Scan(&ordinal, &kind, &args)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	job, err := parseJob(kind, args)
	return ordinal, job, err
}

func (Queue) markDone(ctx context.Context, pool *pgxpool.Pool, ordinal int64) error {
	_, err := pool.Exec(ctx, "update modeltest_jobs set done = true where ordinal = $1", ordinal)
	return err
}

func parseJob(kind string, args []byte) (store.Job, error) {
	switch kind {
	case occurrence.EvaluateOccurrences{}.Kind():
		return decodeJob[occurrence.EvaluateOccurrences](args)
	case adjudication.DecideSlices{}.Kind():
		return decodeJob[adjudication.DecideSlices](args)
	case adjudication.EvaluatePolicies{}.Kind():
		return decodeJob[adjudication.EvaluatePolicies](args)
	case payouts.VerifyPayoutMethod{}.Kind():
		return decodeJob[payouts.VerifyPayoutMethod](args)
	case payouts.ReevaluatePayouts{}.Kind():
		return decodeJob[payouts.ReevaluatePayouts](args)
	case payouts.ReleasePayout{}.Kind():
		return decodeJob[payouts.ReleasePayout](args)
	case payouts.ReleaseBatch{}.Kind():
		return decodeJob[payouts.ReleaseBatch](args)
	case store.DeleteFiles{}.Kind():
		return decodeJob[store.DeleteFiles](args)
	case webhooks.DeliverEndpoint{}.Kind():
		return decodeJob[webhooks.DeliverEndpoint](args)
	case store.SweepWork{}.Kind():
		return decodeJob[store.SweepWork](args)
	default:
		return nil, fmt.Errorf("modeltest cannot work jobs of kind %q yet", kind)
	}
}

func decodeJob[J store.Job](args []byte) (store.Job, error) {
	var job J
	err := json.Unmarshal(args, &job)
	return job, err
}
