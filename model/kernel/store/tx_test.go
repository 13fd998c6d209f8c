package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// appendNoteEvent records an event about a row.
func appendNoteEvent(tx *store.Tx, row *noteRow) error {
	_, err := tx.AppendEvent(event.QuoteCreated, &row.RowHeader, store.ResourceQuote, wire.Quote{QuoteHead: wire.QuoteHead{Header: wire.Header{ID: row.ID.String()}}})
	return err
}

// countWritten returns the number of notes, events and jobs.
func countWritten(t *testing.T, db *dbpool.Database) (written [3]int) {
	t.Helper()
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select (select count(*) from notes), (select count(*) from event_outbox), (select count(*) from modeltest_jobs)").
		Scan(&written[0], &written[1], &written[2]))
	return written
}

// writeAll queues a row, an event and a job.
func writeAll(tx *store.Tx) error {
	tx.EnqueueJob(store.DeleteFiles{Keys: []string{"a"}})
	return writeEvent(tx)
}

// writeEvent is writeAll without a job, which is inserted before the batch of the commit.
func writeEvent(tx *store.Tx) error {
	row := newNote("acme")
	tx.QueueInsert(&row)
	return appendNoteEvent(tx, &row)
}

func TestTransactionWritesEverythingOrNothing(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	errStopped := errors.New("stopped")
	for name, tc := range map[string]struct {
		after func(context.Context, *store.Tx) error
		want  error
	}{
		"an error": {func(context.Context, *store.Tx) error { return errStopped }, errStopped},
		"a statement whose failure is ignored": {func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.PgxConn.Exec(ctx, "select 1/0")
			require.Error(t, err)
			return nil
		}, nil},
		"an event outside the catalogue": {func(_ context.Context, tx *store.Tx) error {
			row := newNote("acme")
			_, err := tx.AppendEvent(event.QuoteCreated, &row.RowHeader, store.ResourcePolicy, wire.Policy{})
			return err
		}, nil},
	} {
		err := s.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
			require.NoError(t, writeAll(tx))
			require.NoError(t, tx.Flush(ctx))
			return tc.after(ctx, tx)
		})
		require.Error(t, err, name)
		if tc.want != nil {
			require.ErrorIs(t, err, tc.want, name)
		}
		require.Equal(t, [3]int{}, countWritten(t, db), name)
	}
	require.NoError(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error { return writeAll(tx) }))
	require.Equal(t, [3]int{1, 1, 1}, countWritten(t, db))
}

func TestFailedTransactionLeavesItsConnectionUsable(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	for range 20 { // more than the pool has connections
		cancelled, cancel := context.WithCancel(t.Context())
		err := s.InTx(cancelled, actor.System(), func(ctx context.Context, tx *store.Tx) error {
			cancel()
			_, err := tx.PgxConn.Exec(context.WithoutCancel(ctx), "select pg_advisory_xact_lock(14)")
			require.NoError(t, err)
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.Canceled)
	}
	var free bool
	require.NoError(t, s.Pool.QueryRow(t.Context(), "select pg_try_advisory_lock(14)").Scan(&free))
	require.True(t, free, "locks of a cancelled transaction are released")
}

// TestConnectionIsNotUsedAfterItWasGivenBack lets database/sql give a connection back in the
// middle of a transaction: the driver refuses a statement whose context has ended.
func TestConnectionIsNotUsedAfterItWasGivenBack(t *testing.T) {
	t.Parallel()
	_, url := modeltest.Database(t, 1)
	ended, status := make(chan struct{}), make(chan byte, 1)
	db, err := dbpool.Open(t.Context(), url, 1, func(config *pgxpool.Config) {
		config.BeforeClose = func(conn *pgx.Conn) {
			<-ended
			status <- conn.PgConn().TxStatus()
		}
	})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	s, err := store.New(store.Config{DB: db, Queue: modeltest.Queue{}, Keys: modeltest.Keys()})
	require.NoError(t, err)
	cancelled, cancel := context.WithCancel(t.Context())
	err = s.InTx(cancelled, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		cancel()
		_, err := tx.NewRaw("select 1").Exec(ctx)
		return err
	})
	require.Error(t, err)
	close(ended)
	require.Equal(t, byte('T'), <-status, "it was rolled back while the pool closed it")
}

// A deadlock is repeated with a new Tx, so that nothing of the first attempt is written twice.
func TestDeadlockIsRepeatedTwice(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	for _, tc := range []struct {
		code              string
		failing, attempts int
		written           [3]int
		refusal           apperr.Code
	}{
		{"40P01", 2, 3, [3]int{1, 1, 1}, ""},
		{"40001", 1, 2, [3]int{1, 1, 1}, ""},
		{"40P01", 9, 3, [3]int{}, apperr.CodeUnavailable},
		{"23505", 9, 1, [3]int{}, ""},
	} {
		_, err := db.Pool.Exec(t.Context(), "truncate notes, event_outbox, modeltest_jobs")
		require.NoError(t, err)
		attempts := 0
		err = s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
			attempts++
			require.NoError(t, writeAll(tx))
			if attempts <= tc.failing {
				return &pgconn.PgError{Code: tc.code}
			}
			return nil
		})
		require.Equal(t, tc.attempts, attempts, tc.code)
		require.Equal(t, tc.written != [3]int{}, err == nil, tc.code)
		if tc.refusal != "" {
			require.Equal(t, tc.refusal, apperr.CodeOf(err))
		}
		require.Equal(t, tc.written, countWritten(t, db), tc.code)
	}
}

func TestEventsAreNumberedInTheOrderOfTheirRecording(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	var want []string
	require.NoError(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
		tx.ReserveEvents(3)
		for i, partner := range []string{"globex", "acme", "acme", "globex", "acme"} {
			row := newNote(partner)
			row.Version = int64(i + 1)
			id, err := tx.AppendEvent(event.QuoteBound, &row.RowHeader, store.ResourceQuote, wire.Subject{ID: partner, Version: row.Version})
			require.NoError(t, err)
			want = append(want, id.String())
		}
		return nil
	}))
	rows, err := db.Pool.Query(t.Context(), "select event_id::text from event_outbox order by ordinal")
	require.NoError(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, want, got)
	var kind, subject, partner string
	var version int64
	var data compress.JSON
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select type, subject_type, partner, subject_version, data from events where id::text = $1", want[1]).
		Scan(&kind, &subject, &partner, &version, &data))
	require.Equal(t, []any{"quote.bound", "quote", "acme", int64(2)}, []any{kind, subject, partner, version})
	exactly := `{"object":{"type":"","id":"acme","version":2}}`
	require.Equal(t, exactly, string(data))
}

func TestCommittedEventsWakeTheRelayOnce(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	isAwake := func() bool {
		select {
		case <-s.EventsCommitted():
			return true
		default:
			return false
		}
	}
	insertNotes(t, s, newNote("acme"))
	require.False(t, isAwake(), "a change without events")
	require.Error(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
		require.NoError(t, writeAll(tx))
		return errors.New("stopped")
	}))
	require.False(t, isAwake(), "events that were not committed")
	for range 3 { // the second does not wait for a reader
		require.NoError(t, s.InTx(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error { return writeAll(tx) }))
	}
	require.True(t, isAwake())
	require.False(t, isAwake())
}

func TestUnparsedMembersAreRefusedBeforeATransactionBegins(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	ctx := apperr.WithFieldErrors(t.Context(), apperr.FieldError{Pointer: "/limit", Code: "type"})
	err := s.InTx(ctx, actor.System(), func(context.Context, *store.Tx) error { panic("unreachable") })
	require.Equal(t, []string{"/limit"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
}

func TestPreconditionIsCheckedBeforeTheOperation(t *testing.T) {
	t.Parallel()
	locked, errLock := "", error(nil)
	s, _ := openNotes(t, func(c *store.Config) {
		c.Hooks.LockRecord = func(_ context.Context, _ *store.Tx, id string) (any, error) {
			locked = id
			return wire.Quote{QuoteHead: wire.QuoteHead{Header: wire.Header{Version: 3}}}, errLock
		}
	})
	caller := modeltest.Partner("acme")
	run := func(version int64) (done bool, err error) {
		caller.Precondition = actor.RequireVersion("quo_1", version)
		err = s.InTx(t.Context(), caller, func(context.Context, *store.Tx) error {
			done = true
			return nil
		})
		return done, err
	}
	done, err := run(3)
	require.NoError(t, err)
	require.True(t, done)
	require.Equal(t, "quo_1", locked)
	done, err = run(2)
	require.Equal(t, apperr.CodeVersionMismatch, apperr.CodeOf(err))
	require.False(t, done)
	errLock = store.ResourceQuote.NotFoundError()
	done, err = run(3)
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	require.False(t, done)
}

func TestNoNetworkCallInsideATransaction(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	require.NoError(t, dbconn.RequireNoTransaction(t.Context()))
	require.NoError(t, s.InTx(t.Context(), actor.System(), func(ctx context.Context, _ *store.Tx) error {
		require.ErrorIs(t, dbconn.RequireNoTransaction(ctx), dbconn.ErrInTransaction)
		return nil
	}))
}

func TestPoliciesAreInsertedUnderTheBindLock(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	holders := func() (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), `select count(*) from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and granted
			and classid::bigint << 32 | objid::bigint = $1 and database = (select oid from pg_database where datname = current_database())`, store.BindLock).Scan(&n))
		return n
	}
	caller := modeltest.Partner("acme")
	require.NoError(t, s.InBindTx(t.Context(), caller, func(*store.Tx) {}, func(ctx context.Context, first store.BindTx) error {
		require.Equal(t, caller, first.Actor)
		require.Equal(t, 1, holders())
		return s.InBindTx(ctx, caller, func(*store.Tx) {}, func(context.Context, store.BindTx) error {
			require.Equal(t, 2, holders(), "no bind waits for another")
			return nil
		})
	}))
	require.Zero(t, holders())
	require.NoError(t, s.InTx(t.Context(), caller, func(context.Context, *store.Tx) error {
		require.Zero(t, holders())
		return nil
	}))
}

func TestActorIsReplacedUntilRestored(t *testing.T) {
	t.Parallel()
	tx := &store.Tx{Actor: modeltest.Partner("acme")}
	restore := tx.WithActor(actor.System())
	require.Equal(t, actor.KindSystem, tx.Actor.Kind)
	restore()
	require.Equal(t, "acme", tx.Actor.Partner)
	early, late := time.Unix(1, 0), time.Unix(2, 0)
	require.Equal(t, []time.Time{early, early, late, late}, []time.Time{
		store.EarlierTime(early, late), store.EarlierTime(late, early), store.LaterTime(early, late), store.LaterTime(late, early),
	})
}
