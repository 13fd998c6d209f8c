package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestRequestsWithOneKeyInAGroupHaveOneEffect(t *testing.T) {
	t.Parallel()
	g := newGroupTest(t)
	caller := modeltest.WithKey(modeltest.Partner("acme"), "k1", "a")
	for range 2 {
		g.add(t.Context(), t, caller, func(_ context.Context, tx *store.Tx) error {
			if err := writeAll(tx); err != nil {
				return err
			}
			return tx.StoreResponse(store.StatusCreated, "note", "answer")
		})
	}
	answered := 0
	for _, err := range g.run(t) {
		replay := new(store.Replay)
		switch {
		case err == nil:
			answered++
		case errors.As(err, &replay):
			require.Equal(t, `"answer"`, string(replay.Body))
		default:
			require.Equal(t, apperr.CodeIdempotencyInFlight, modeltest.DomainError(t, err).Code)
		}
	}
	require.Equal(t, 1, answered)
	require.Equal(t, [3]int{1, 1, 1}, countWritten(t, g.db))
}

func TestGroupWithABindHoldsTheLockOfBinds(t *testing.T) {
	t.Parallel()
	for name, binds := range map[string]bool{"a bind": true, "no bind": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGroupTest(t)
			var locked bool
			read := func(ctx context.Context, tx *store.Tx) error {
				return tx.PgxConn.QueryRow(ctx, "select exists (select from pg_locks where locktype = 'advisory' and objid = $1 and pid = pg_backend_pid())", store.BindLock).Scan(&locked)
			}
			g.add(t.Context(), t, actor.System(), read)
			if binds {
				g.addBind(t, func(context.Context, store.BindTx) error { return nil })
			} else {
				g.add(t.Context(), t, actor.System(), read)
			}
			require.Equal(t, []error{nil, nil}, g.run(t))
			require.Equal(t, binds, locked)
		})
	}
}

// TestCallThatWaitsForARowHoldsNoTurn lets a call wait for a row that another transaction
// holds. A second call, which needs the only turn, does not wait for the first.
func TestCallThatWaitsForARowHoldsNoTurn(t *testing.T) {
	t.Parallel()
	g := newGroupTest(t)
	held := newNote("acme")
	insertNotes(t, g.Store, held)
	close(g.blocked)
	require.NoError(t, <-g.results[0])
	runs := 0 // of the call that waits
	lock := func(ctx context.Context, tx *store.Tx) error {
		runs++
		return tx.LockRow(ctx, new(noteRow), held.ID, store.ResourceMessage)
	}
	waited := make(chan error, 1)
	require.NoError(t, g.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		if err := lock(ctx, tx); err != nil {
			return err
		}
		go func() { waited <- g.InGroupTx(t.Context(), actor.System(), asks, lock) }() //nolint:contextcheck // it is not a part of the transaction
		require.Eventually(t, func() bool {
			var waits bool
			require.NoError(t, g.db.Pool.QueryRow(ctx, "select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')").Scan(&waits))
			return waits
		}, 10*time.Second, time.Millisecond)
		return g.InGroupTx(ctx, actor.System(), asks, g.writes(t))
	}))
	require.NoError(t, <-waited)
	require.Equal(t, 2, runs, "one of each transaction: a call without a group does not run again")
}

func TestCallThatStoppedWaitingDoesNotRun(t *testing.T) {
	t.Parallel()
	g := newGroupTest(t)
	ctx, cancel := context.WithCancel(t.Context())
	g.add(ctx, t, actor.System(), g.writes(t))
	cancel()
	require.ErrorIs(t, <-g.results[1], context.Canceled)
	g.results = g.results[:1]
	require.Empty(t, g.run(t))
	require.Equal(t, [3]int{}, countWritten(t, g.db))
}
