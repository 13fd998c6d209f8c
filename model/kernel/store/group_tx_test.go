package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/store"
	"parapet/model/kernel/wal"
	"parapet/model/modeltest"
)

var errPanicked = errors.New("the call panicked")

// groupTest starts calls of InGroupTx that run in one shared transaction, in their order.
type groupTest struct {
	*store.Store

	db      *dbpool.Database
	blocked chan struct{} // closed to let the group run
	results []chan error
	shared  []uint64 // the transaction of each call that ran, by its number
}

func newGroupTest(t *testing.T) *groupTest {
	t.Helper()
	s, db := openNotes(t)
	return blockGroups(t, s, db)
}

// blockGroups lets calls wait for the only turn, which a call has.
func blockGroups(t *testing.T, s *store.Store, db *dbpool.Database) *groupTest {
	t.Helper()
	s.RunOneGroupAtOnce()
	g := &groupTest{Store: s, db: db, blocked: make(chan struct{})}
	began := make(chan struct{})
	g.results = append(g.results, make(chan error, 1))
	go func() {
		g.results[0] <- s.InGroupTx(t.Context(), actor.System(), asks, func(context.Context, *store.Tx) error {
			close(began)
			<-g.blocked
			return nil
		})
	}()
	<-began
	return g
}

// asks is a prelude whose statement needs an answer, so that the call has a connection.
func asks(tx *store.Tx) { tx.Batch.Queue("select") }

// add starts a call that is in the group after those before.
func (g *groupTest) add(ctx context.Context, t *testing.T, caller actor.Actor, do func(context.Context, *store.Tx) error) {
	t.Helper()
	g.addCall(t, func() error { return g.InGroupTx(ctx, caller, asks, do) })
}

// addBind is add for InBindTx.
func (g *groupTest) addBind(t *testing.T, do func(context.Context, store.BindTx) error) {
	t.Helper()
	g.addCall(t, func() error { return g.InBindTx(t.Context(), actor.System(), asks, do) })
}

func (g *groupTest) addCall(t *testing.T, call func() error) {
	t.Helper()
	result := make(chan error, 1)
	g.results = append(g.results, result)
	waiting := g.WaitingCalls()
	go func() {
		defer func() {
			if recover() != nil {
				result <- errPanicked
			}
		}()
		result <- call()
	}()
	require.Eventually(t, func() bool { return g.WaitingCalls() == waiting+1 }, 10*time.Second, time.Millisecond)
}

// run lets the group run and returns the results of its calls.
func (g *groupTest) run(t *testing.T) (errs []error) {
	t.Helper()
	close(g.blocked)
	for _, result := range g.results {
		errs = append(errs, <-result)
	}
	require.NoError(t, errs[0])
	return errs[1:]
}

// writes returns a call's do that writes a note, an event and a job, and reads its
// transaction's id.
func (g *groupTest) writes(t *testing.T) func(context.Context, *store.Tx) error {
	t.Helper()
	return func(ctx context.Context, tx *store.Tx) error {
		var id uint64
		if err := tx.PgxConn.QueryRow(ctx, "select pg_current_xact_id()::text::bigint").Scan(&id); err != nil {
			return err
		}
		g.shared = append(g.shared, id)
		return writeAll(tx)
	}
}

func TestConcurrentCallsShareATransaction(t *testing.T) {
	t.Parallel()
	g := newGroupTest(t)
	var positions [3]wal.Recorder
	var clocks []time.Time
	for i := range positions {
		write := g.writes(t)
		g.add(wal.WithRecorder(t.Context(), &positions[i]), t, modeltest.Partner("acme"), func(ctx context.Context, tx *store.Tx) error {
			clocks = append(clocks, tx.Clock, tx.Now)
			require.Equal(t, "acme", tx.Actor.Partner)
			return write(ctx, tx)
		})
	}
	before := endOfLog(t, g.db)
	require.Equal(t, []error{nil, nil, nil}, g.run(t))
	require.Len(t, g.shared, 3)
	require.Equal(t, []uint64{g.shared[0], g.shared[0], g.shared[0]}, g.shared)
	for _, clock := range clocks {
		require.Equal(t, clocks[0], clock)
		require.False(t, clock.IsZero())
	}
	require.Equal(t, [3]int{3, 3, 3}, countWritten(t, g.db))
	for i := range positions {
		at, known := positions[i].Last()
		require.True(t, known)
		require.Greater(t, at.LSN, before, "each request can wait for its write")
	}
	select {
	case <-g.EventsCommitted():
	default:
		t.Fatal("the relay is woken")
	}
}

func TestCallThatFailsIsLeftOutOfItsGroup(t *testing.T) {
	t.Parallel()
	g := newGroupTest(t)
	refused := errors.New("refused")
	cancelled, cancel := context.WithCancel(t.Context())
	write := g.writes(t)
	g.add(t.Context(), t, actor.System(), write)
	g.add(t.Context(), t, actor.System(), func(_ context.Context, tx *store.Tx) error {
		require.NoError(t, writeAll(tx))
		return refused
	})
	g.add(cancelled, t, actor.System(), func(_ context.Context, tx *store.Tx) error {
		cancel()
		return writeAll(tx)
	})
	g.add(t.Context(), t, actor.System(), write)
	errs := g.run(t)
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], refused)
	require.ErrorIs(t, errs[2], context.Canceled)
	require.NoError(t, errs[3])
	require.Equal(t, [3]int{2, 2, 2}, countWritten(t, g.db))
}

// TestConflictOfOneCallFailsNoOther covers what fails at the commit, a panic, and what may
// wait: the calls run again, alone.
func TestConflictOfOneCallFailsNoOther(t *testing.T) {
	t.Parallel()
	held := newNote("acme")
	for name, tc := range map[string]struct {
		do      func(ctx context.Context, tx *store.Tx, runs int) error
		runs    int
		panics  bool
		refused bool
	}{
		"a row that exists": {func(_ context.Context, tx *store.Tx, _ int) error {
			again := held
			tx.QueueInsert(&again)
			return nil
		}, 2, false, true},
		"a statement that fails": {func(ctx context.Context, tx *store.Tx, runs int) error {
			if runs == 1 {
				_, _ = tx.PgxConn.Exec(ctx, "select 1 / 0")
			}
			return nil
		}, 2, false, false},
		"a statement whose error it returns": {func(ctx context.Context, tx *store.Tx, _ int) error {
			_, err := tx.PgxConn.Exec(ctx, "select 1 / 0")
			return err
		}, 2, false, true},
		"a flush": {func(ctx context.Context, tx *store.Tx, _ int) error {
			row := newNote("globex")
			tx.QueueInsert(&row)
			return tx.Flush(ctx)
		}, 2, false, false},
		"a lock": {func(ctx context.Context, tx *store.Tx, _ int) error {
			return tx.LockRow(ctx, new(noteRow), held.ID, store.ResourceMessage)
		}, 2, false, false},
		"a panic": {func(context.Context, *store.Tx, int) error { panic("bug") }, 2, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGroupTest(t)
			insertNotes(t, g.Store, held)
			write := g.writes(t)
			g.add(t.Context(), t, actor.System(), write)
			runs := 0
			g.add(t.Context(), t, actor.System(), func(ctx context.Context, tx *store.Tx) error {
				runs++
				return tc.do(ctx, tx, runs)
			})
			g.add(t.Context(), t, actor.System(), write)
			errs := g.run(t)
			require.NoError(t, errs[0])
			require.NoError(t, errs[2])
			require.Equal(t, tc.refused || tc.panics, errs[1] != nil)
			require.Equal(t, tc.panics, errors.Is(errs[1], errPanicked))
			require.Equal(t, tc.runs, runs)
			require.Equal(t, 2, countWritten(t, g.db)[1], "each event once")
		})
	}
}

// TestLostConnectionFailsTheWholeGroup ends the session in the batch of the commit. The
// callers cannot know whether it committed, so no call runs again.
func TestLostConnectionFailsTheWholeGroup(t *testing.T) {
	t.Parallel()
	g := newGroupTest(t)
	runs := 0
	g.add(t.Context(), t, actor.System(), func(_ context.Context, tx *store.Tx) error {
		runs++
		return writeEvent(tx)
	})
	g.add(t.Context(), t, actor.System(), func(_ context.Context, tx *store.Tx) error {
		runs++
		tx.Batch.Queue("select pg_terminate_backend(pg_backend_pid())")
		return writeEvent(tx)
	})
	for _, err := range g.run(t) {
		require.Error(t, err)
	}
	require.Equal(t, [3]int{}, countWritten(t, g.db))
	require.Equal(t, 2, runs)
}
