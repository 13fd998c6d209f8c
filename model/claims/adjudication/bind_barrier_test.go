package adjudication_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// bindInBackground binds a quote in a goroutine.
func bindInBackground(t *testing.T, b *modeltest.Bundle, quote *wire.Quote) <-chan *wire.Policy {
	t.Helper()
	bound := make(chan *wire.Policy, 1)
	go func() {
		policy, err := b.Service.Policies.Bind(context.WithoutCancel(t.Context()), b.Acme, underwriting.BindRequest{QuoteID: quote.ID})
		if err != nil {
			t.Error(err)
		}
		bound <- policy
	}()
	return bound
}

// awaitLock waits until another transaction waits for a lock of this kind.
func awaitLock(t *testing.T, b *modeltest.Bundle, kind string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waits bool
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select exists (select from pg_locks l join pg_stat_activity a using (pid)
			where not l.granted and l.locktype = $1 and a.datname = current_database())`, kind).Scan(&waits))
		return waits
	}, 30*time.Second, 5*time.Millisecond)
}

// runFirstMatchingPass runs the first pass for the last observation and returns its
// second, if it enqueued one.
func runFirstMatchingPass(t *testing.T, b *modeltest.Bundle) (second occurrence.EvaluateOccurrences, asked bool) {
	t.Helper()
	job, ok := b.LastJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	second, ok = b.LastJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	return second, second.After != ""
}

// pauseBindDuringFirstPass runs the first pass of an earthquake while a bind waits before
// its insert. It returns the job of the second pass; finish lets the bind end.
func pauseBindDuringFirstPass(t *testing.T, b *modeltest.Bundle) (second occurrence.EvaluateOccurrences, finish func() *wire.Policy) {
	t.Helper()
	quote := b.Quote("quake-circle", nil)
	hold := modeltest.BeginOutsideTx(t, b)
	hold.Run("select from quotes for update")
	bound := bindInBackground(t, b, quote)
	awaitLock(t, b, "transactionid")
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	second, asked := runFirstMatchingPass(t, b)
	require.True(t, asked, "the pass sees the bind before its insert")
	return second, func() *wire.Policy {
		require.NoError(t, hold.Rollback(t.Context()))
		return <-bound
	}
}

// The bind has its lock and its start time, and waits before its insert.
func TestMatchingWaitsForBindPausedBeforeInsert(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	second, finish := pauseBindDuringFirstPass(t, b)
	require.ErrorIs(t, b.Service.Adjudication.Evaluate(t.Context(), second), adjudication.ErrBarrierPending)
	policy := finish()
	require.Empty(t, b.Claims(policy), "the first pass did not see it")
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), second))
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
	b.RunJobs()
}

// A bind that waits for its lock has not read the clock: its cover begins after
// everything that was matched meanwhile. The second pass still waits for it.
func TestBindReadsClockAfterLock(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quote := b.Quote("quake-circle", nil)
	hold := modeltest.BeginOutsideTx(t, b)
	hold.Run("select pg_advisory_xact_lock($1)", store.BindLock)
	bound := bindInBackground(t, b, quote)
	awaitLock(t, b, "advisory")
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	second, asked := runFirstMatchingPass(t, b)
	require.True(t, asked)
	require.Contains(t, second.After, ",", "the bind that holds the lock and the one that waits")
	released := b.Now()
	require.NoError(t, hold.Rollback(t.Context()))
	policy := <-bound
	require.True(t, policy.EffectiveAt.After(released), "%s", policy.EffectiveAt)
	b.RunJobs()
	require.Empty(t, b.Claims(policy))
}

// A long transaction that inserts no policy, such as a dump, does not delay a second
// pass. Matching never waits in the lock's queue, where it would delay binds.
func TestUnrelatedLongTransactionDoesNotDelayMatching(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	long, err := b.DB.Pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer func() { _ = long.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = long.Exec(t.Context(), "select pg_current_xact_id(), count(*) from policies")
	require.NoError(t, err)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	_, asked := runFirstMatchingPass(t, b)
	require.False(t, asked, "no bind was running")
	require.Equal(t, "approved", b.OnlyClaim(policy).Status)
}

// A second pass does not wait for a policy bound between the passes, and another bind
// succeeds while the second pass waits.
func TestMatchingDoesNotBlockBind(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	first, other := b.Quote("quake-circle", nil), b.Quote("quake-circle", nil)
	hold := modeltest.BeginOutsideTx(t, b)
	hold.Run("select from quotes order by id limit 1 for update")
	bound := bindInBackground(t, b, first)
	awaitLock(t, b, "transactionid")
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	second, asked := runFirstMatchingPass(t, b)
	require.True(t, asked)
	require.ErrorIs(t, b.Service.Adjudication.Evaluate(t.Context(), second), adjudication.ErrBarrierPending)
	later := b.Bind(other)
	require.NoError(t, hold.Rollback(t.Context()))
	<-bound
	b.RunJobs()
	require.Empty(t, b.Claims(later), "its cover began after the quake")
}
