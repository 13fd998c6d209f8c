package modeltest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"

	"parapet/model/kernel/store"
)

// TakeJob returns the first open job and marks it done.
func (b *Bundle) TakeJob() store.Job {
	b.t.Helper()
	ordinal, job, err := Queue{}.nextJob(b.ctx, b.DB.Pool, 0)
	require.NoError(b.t, err)
	require.NotNil(b.t, job, "nothing is to be done")
	require.NoError(b.t, Queue{}.markDone(b.ctx, b.DB.Pool, ordinal))
	return job
}

// TakeJobIfAny is TakeJob, but returns nil if there is no open job.
func (b *Bundle) TakeJobIfAny() store.Job {
	b.t.Helper()
	ordinal, job, err := Queue{}.nextJob(b.ctx, b.DB.Pool, 0)
	require.NoError(b.t, err)
	if job != nil {
		require.NoError(b.t, Queue{}.markDone(b.ctx, b.DB.Pool, ordinal))
	}
	return job
}

// LastJob returns the last enqueued job; nil if there is none.
func (b *Bundle) LastJob() store.Job {
	b.t.Helper()
	var last int64
	require.NoError(b.t, b.DB.Pool.QueryRow(b.ctx, "select coalesce(max(ordinal), 0) from modeltest_jobs").Scan(&last))
	_, job, err := Queue{}.nextJob(b.ctx, b.DB.Pool, last-1)
	require.NoError(b.t, err)
	return job
}

// CountJobs returns how many jobs of a kind were enqueued, done or not; of any kind if kind
// is empty.
func (b *Bundle) CountJobs(kind string) (n int) {
	b.t.Helper()
	require.NoError(b.t, b.DB.Pool.QueryRow(b.ctx, "select count(*) from modeltest_jobs where $1 in ('', kind)", kind).Scan(&n))
	return n
}

// Events returns the types of all events, in the order they were written.
func (b *Bundle) Events() []string {
	b.t.Helper()
	var types []string
	require.NoError(b.t, b.DB.Bun.NewRaw("select e.type from events e left join event_outbox o on o.event_id = e.id left join event_sequence n on n.event_id = e.id order by n.sequence, o.ordinal").Scan(b.ctx, &types))
	return types
}

// BlockingTx is an open transaction that holds locks for which other transactions wait.
type BlockingTx struct {
	b  *Bundle
	tx pgx.Tx
}

// BlockReference makes a policy with this partner_reference wait, in the middle of its
// transaction, until Release.
func (b *Bundle) BlockReference(reference string) BlockingTx {
	b.t.Helper()
	b.QuoteAndBind("rain-excess", nil) // locked until Release, so it is placed where no earthquake happens
	return b.block("update policy_keys set partner_reference = $1 where id = (select id from policies order by id desc limit 1)", reference)
}

// BlockOccurrence makes transactions that read an occurrence for a decision wait until
// Commit.
func (b *Bundle) BlockOccurrence(event string) BlockingTx {
	b.t.Helper()
	return b.block("select id from occurrences where source_event_id = $1 for no key update", event)
}

// BlockRows makes transactions that change a row of a table wait until Release: a decision
// about a policy, a bind of a quote, an answer about a payout.
func (b *Bundle) BlockRows(table string) BlockingTx {
	b.t.Helper()
	return b.block("select id from " + table + " for no key update")
}

// BlockRelay makes the relay wait, in the middle of its transaction, until Release.
func (b *Bundle) BlockRelay() BlockingTx {
	b.t.Helper()
	return b.BlockTable("event_relay")
}

// BlockTable makes transactions that use a table wait until Release.
func (b *Bundle) BlockTable(table string) BlockingTx {
	b.t.Helper()
	return b.block("lock table " + table + " in access exclusive mode")
}

func (b *Bundle) block(statement string, args ...any) BlockingTx {
	b.t.Helper()
	tx, err := b.DB.Pool.Begin(b.ctx)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = tx.Rollback(b.ctx) })
	_, err = tx.Exec(b.ctx, statement, args...)
	require.NoError(b.t, err)
	return BlockingTx{b, tx}
}

// AwaitWaiters waits until count transactions of the database wait for locks.
func (h BlockingTx) AwaitWaiters(count int) {
	h.b.t.Helper()
	h.awaitCondition("select count(*) >= $1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'", count)
}

// Commit runs statements in the transaction and commits it.
func (h BlockingTx) Commit(statements ...string) {
	h.b.t.Helper()
	for _, statement := range statements {
		_, err := h.tx.Exec(h.b.ctx, statement)
		require.NoError(h.b.t, err)
	}
	require.NoError(h.b.t, h.tx.Commit(h.b.ctx))
}

// AwaitWaiter waits until another transaction waits for this one.
func (h BlockingTx) AwaitWaiter() {
	h.b.t.Helper()
	h.awaitCondition("select exists (select from pg_stat_activity where $1 = any(pg_blocking_pids(pid)))", h.backendPID())
}

// awaitCondition waits until a query of one boolean returns true.
func (h BlockingTx) awaitCondition(query string, arg any) {
	h.b.t.Helper()
	ctx, cancel := context.WithTimeout(h.b.ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for waiting := false; !waiting; {
		err := h.b.DB.Pool.QueryRow(ctx, query, arg).Scan(&waiting)
		require.NoError(h.b.t, err)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (h BlockingTx) backendPID() int64 { return int64(h.tx.Conn().PgConn().PID()) }

// Release rolls the transaction back.
func (h BlockingTx) Release() {
	h.b.t.Helper()
	require.NoError(h.b.t, h.tx.Rollback(h.b.ctx))
}

// KillWaiter ends the connection that waits, like a crash.
func (h BlockingTx) KillWaiter() {
	h.b.t.Helper()
	_, err := h.b.DB.Pool.Exec(h.b.ctx, "select pg_terminate_backend(pid) from pg_stat_activity where $1 = any(pg_blocking_pids(pid))", h.backendPID())
	require.NoError(h.b.t, err)
}

// RailKey returns a payout's n-th key as the rail sees it.
func (b *Bundle) RailKey(payout string, n int) string {
	b.t.Helper()
	id, err := typeid.FromString(payout)
	require.NoError(b.t, err)
	var policy, digest string
	require.NoError(b.t, b.DB.Pool.QueryRow(b.ctx, "select policy_id::text, debt_digest from payouts where id = $1", id.UUID()).Scan(&policy, &digest))
	named, err := typeid.FromUUIDWithPrefix("pol", policy)
	require.NoError(b.t, err)
	return fmt.Sprintf("%s.%s.%d", named, digest, n)
}

// ExplainPrepared returns the plans of the connection's prepared statements whose text
// matches a pattern of SQL's like.
func ExplainPrepared(ctx context.Context, t testing.TB, conn *pgx.Conn, pattern string) (plans []string) {
	t.Helper()
	rows, err := conn.Query(ctx, "select format('explain execute %I (%s)', name, array_to_string(array_fill('null'::text, array[cardinality(parameter_types)]), ', ')) from pg_prepared_statements where statement like $1", pattern)
	require.NoError(t, err)
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, explain := range statements {
		rows, err := conn.Query(ctx, explain, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		plans = append(plans, strings.Join(lines, "\n"))
	}
	return plans
}

// KeptPlans returns the plans that the idle connections keep of the prepared statements
// whose text matches a pattern of SQL's like.
func (b *Bundle) KeptPlans(pattern string) (plans []string) {
	b.t.Helper()
	for _, conn := range b.DB.Pool.AcquireAllIdle(b.ctx) {
		defer conn.Release()
		tx, err := conn.Begin(b.ctx)
		require.NoError(b.t, err)
		_, err = tx.Exec(b.ctx, "set local plan_cache_mode = force_generic_plan")
		require.NoError(b.t, err)
		plans = append(plans, ExplainPrepared(b.ctx, b.t, conn.Conn(), pattern)...)
		require.NoError(b.t, tx.Rollback(b.ctx))
	}
	return plans
}
