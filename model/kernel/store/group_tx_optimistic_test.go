package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/store"
	"parapet/model/kernel/wal"
	"parapet/model/modeltest"
)

// optimisticTest counts the runs of calls on a store that knows the clock and the number of
// notes.
type optimisticTest struct {
	*store.Store

	db   *dbpool.Database
	runs []run
}

// run is one run of a call.
type run struct {
	assumed bool // it had no connection
	notes   []countedNotes
	clock   time.Time
}

type countedNotes struct{ N int }

func newOptimisticTest(t *testing.T) *optimisticTest {
	t.Helper()
	s, db := openNotes(t)
	s.SetMaxClockAge(time.Minute) // a slow machine takes longer than 100 ms
	o := &optimisticTest{Store: s, db: db}
	require.NoError(t, o.call(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		_, err := store.AllReleasesKnow(ctx, tx, 1) // is read once
		return err
	}))
	require.False(t, o.runs[0].assumed, "nothing is known yet")
	o.runs = nil
	return o
}

// call runs a call that reads the number of notes in its prelude.
func (o *optimisticTest) call(ctx context.Context, caller actor.Actor, do func(context.Context, *store.Tx) error) error {
	var notes []countedNotes
	return o.InGroupTx(ctx, caller, func(tx *store.Tx) { tx.QueueRead(&notes, `select count(*) as "N" from notes`) }, func(ctx context.Context, tx *store.Tx) error {
		o.runs = append(o.runs, run{tx.PgxConn == nil, slices.Clone(notes), tx.Clock})
		return do(ctx, tx)
	})
}

func writesNote(_ context.Context, tx *store.Tx) error { return writeAll(tx) }

func (o *optimisticTest) execSQL(t *testing.T, text string, args ...any) {
	t.Helper()
	_, err := o.db.Pool.Exec(t.Context(), text, args...)
	require.NoError(t, err)
}

func (o *optimisticTest) assumed() (assumed []bool) {
	for _, run := range o.runs {
		assumed = append(assumed, run.assumed)
	}
	return assumed
}

func TestCallAssumesWhatEarlierOnesRead(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	before, err := o.ReadClock(t.Context())
	require.NoError(t, err)
	log := endOfLog(t, o.db)
	var position wal.Recorder
	require.NoError(t, o.call(wal.WithRecorder(t.Context(), &position), modeltest.Partner("acme"), writesNote))
	after, err := o.ReadClock(t.Context())
	require.NoError(t, err)
	require.Equal(t, []bool{true}, o.assumed())
	require.Equal(t, []countedNotes{{0}}, o.runs[0].notes)
	require.WithinRange(t, o.runs[0].clock, before.Add(-time.Minute), after)
	require.Equal(t, [3]int{1, 1, 1}, countWritten(t, o.db))
	at, known := position.Last()
	require.True(t, known)
	require.Greater(t, at.LSN, log)
}

// TestWrongAssumptionCommitsNothing changes what a call assumes. It runs again with what is
// true, and the next call assumes that.
func TestWrongAssumptionCommitsNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change string
		notes  int
	}{
		"another result":              {"insert into notes select gen_random_uuid(), 'acme'", 1},
		"an older clock":              {"update clock set offset_interval = '61 seconds'", 0},
		"a clock of another day":      {"update clock set offset_interval = '1 day'", 0},
		"a clock of the time to come": {"update clock set offset_interval = '-1 hour'", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOptimisticTest(t)
			o.execSQL(t, tc.change)
			before, err := o.ReadClock(t.Context())
			require.NoError(t, err)
			require.NoError(t, o.call(t.Context(), actor.System(), writesNote))
			require.Equal(t, []bool{true, false}, o.assumed())
			require.Equal(t, []countedNotes{{tc.notes}}, o.runs[1].notes)
			require.False(t, o.runs[1].clock.Before(before))
			require.Equal(t, [3]int{1 + tc.notes, 1, 1}, countWritten(t, o.db))

			for range 2 {
				require.NoError(t, o.call(t.Context(), actor.System(), func(context.Context, *store.Tx) error { return nil }))
			}
			if name == "a clock of the time to come" { // until it is as late as clocks that were used
				require.NotContains(t, o.assumed()[1:], true)
			} else {
				require.Equal(t, []bool{true, false, true, false, true}, o.assumed(), "the note that was written changed the number once more")
			}
		})
	}
}

// TestEmptyResultIsAssumed reads rows that no one has written, and then one.
func TestEmptyResultIsAssumed(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	var rows []countedNotes
	read := func() (assumed []bool) {
		require.NoError(t, o.InGroupTx(t.Context(), actor.System(), func(tx *store.Tx) { tx.QueueRead(&rows, `select 5 as "N" from notes`) },
			func(_ context.Context, tx *store.Tx) error {
				assumed = append(assumed, tx.PgxConn == nil)
				tx.Batch.Queue("select") // so that something is committed
				return nil
			}))
		return assumed
	}
	require.Equal(t, []bool{false}, read())
	require.Equal(t, []bool{true}, read())
	require.Empty(t, rows)
	o.execSQL(t, "insert into notes select gen_random_uuid(), 'acme'")
	require.Equal(t, []bool{true, false}, read())
	require.Equal(t, []countedNotes{{5}}, rows)
	require.Equal(t, []bool{true}, read())
}

func TestReadInATransactionSendsItsQueryAgain(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	var before, after []countedNotes
	read := func(tx *store.Tx, into *[]countedNotes) { tx.QueueRead(into, `select count(*) as "N" from notes`) }
	require.NoError(t, o.InTxWithPrelude(t.Context(), actor.System(), func(tx *store.Tx) { read(tx, &before) }, func(ctx context.Context, tx *store.Tx) error {
		row := newNote("acme")
		tx.QueueInsert(&row)
		read(tx, &after)
		return tx.Flush(ctx)
	}))
	require.Equal(t, []countedNotes{{0}}, before)
	require.Equal(t, []countedNotes{{1}}, after)
}

// TestGroupWithABindAssumesNothing puts the bind last.
func TestGroupWithABindAssumesNothing(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	g := blockGroups(t, o.Store, o.db)
	g.addCall(t, func() error { return o.call(t.Context(), actor.System(), writesNote) })
	g.addBind(t, func(_ context.Context, tx store.BindTx) error { return writeAll(tx.Tx) })
	require.Equal(t, []error{nil, nil}, g.run(t))
	require.Equal(t, []bool{false}, o.assumed())
	require.Equal(t, [3]int{2, 2, 2}, countWritten(t, o.db))
}

// TestPreludeThatPanicsIsNotAssumed asks the database in its prelude, for which a call that
// assumes has no connection.
func TestPreludeThatPanicsIsNotAssumed(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	prelude := func(tx *store.Tx) { require.NotZero(t, tx.PgxConn.PgConn().PID()) }
	require.NoError(t, o.InGroupTx(t.Context(), actor.System(), prelude, writesNote))
	require.Equal(t, [3]int{1, 1, 1}, countWritten(t, o.db))
}

func TestAssumingCallKeepsIdempotencyKeys(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	caller := modeltest.WithKey(modeltest.Partner("acme"), "k1", "a")
	answers := func(_ context.Context, tx *store.Tx) error {
		return tx.StoreResponse(store.StatusCreated, "note", "answer")
	}
	require.NoError(t, o.call(t.Context(), caller, answers))
	require.Equal(t, []bool{true}, o.assumed())
	replay := new(store.Replay)
	require.ErrorAs(t, o.call(t.Context(), caller, answers), &replay)
	require.Equal(t, `"answer"`, string(replay.Body))

	err := o.call(t.Context(), caller, func(context.Context, *store.Tx) error { return nil })
	require.ErrorAs(t, err, &replay, "also if the call stores no response")

	// Another request holds the second key.
	caller = modeltest.WithKey(modeltest.Partner("acme"), "k2", "a")
	require.NoError(t, o.InTx(t.Context(), caller, func(ctx context.Context, _ *store.Tx) error {
		err := o.call(t.Context(), caller, answers) //nolint:contextcheck // it is not a part of the transaction
		require.Equal(t, apperr.CodeIdempotencyInFlight, modeltest.DomainError(t, err).Code)
		return ctx.Err()
	}))
	require.NoError(t, o.call(t.Context(), caller, answers), "the key is free again")
}

// TestCallThatCannotAssumeRunsAgain covers calls that fail, ask the database or wait. Their
// errors are those of a run that read the clock and the key.
func TestCallThatCannotAssumeRunsAgain(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	for name, do := range map[string]func(ctx context.Context, tx *store.Tx) error{
		"a refusal": func(context.Context, *store.Tx) error { return refused },
		"a query": func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.PgxConn.Exec(ctx, "select")
			return errors.Join(err, refused)
		},
		"a flush": func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(writeAll(tx), tx.Flush(ctx), refused)
		},
		"a statement that cannot be prepared": func(_ context.Context, tx *store.Tx) error {
			tx.Batch.Queue("select from nothing")
			return writeAll(tx)
		},
		"a statement that fails": func(_ context.Context, tx *store.Tx) error {
			tx.Batch.Queue("select 1 / 0")
			return writeAll(tx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOptimisticTest(t)
			require.Error(t, o.call(t.Context(), actor.System(), do))
			require.Equal(t, []bool{true, false}, o.assumed())
			require.Equal(t, [3]int{}, countWritten(t, o.db))
		})
	}
}

// TestLostConnectionOfAnAssumingCallFailsIt ends the session in the batch of the commit. The
// caller cannot know whether it committed, so the call does not run again.
func TestLostConnectionOfAnAssumingCallFailsIt(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	require.Error(t, o.call(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
		tx.Batch.Queue("select pg_terminate_backend(pg_backend_pid())")
		return writeEvent(tx)
	}))
	require.Equal(t, []bool{true}, o.assumed())
	require.Equal(t, [3]int{}, countWritten(t, o.db))
}

// TestConnectionLostBeforeTheCommitRunsTheCallAgain ends the session in an earlier batch: a
// job is inserted between that and the commit.
func TestConnectionLostBeforeTheCommitRunsTheCallAgain(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	require.NoError(t, o.call(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error {
		if len(o.runs) == 1 {
			tx.Batch.Queue("select pg_terminate_backend(pg_backend_pid())")
		}
		return writeAll(tx)
	}))
	require.Equal(t, []bool{true, false}, o.assumed())
	require.Equal(t, [3]int{1, 1, 1}, countWritten(t, o.db))
}

func TestPreludeThatNeedsAnAnswerIsNotAssumed(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	for name, call := range map[string]func(do func(*store.Tx)) error{
		"a query with arguments": func(do func(*store.Tx)) error {
			return o.InGroupTx(t.Context(), actor.System(), asks, func(_ context.Context, tx *store.Tx) error { do(tx); return nil })
		},
		"a query without a remembered result": func(do func(*store.Tx)) error {
			var rows []countedNotes
			read := func(tx *store.Tx) { tx.QueueRead(&rows, `select 7 as "N"`) }
			return o.InGroupTx(t.Context(), actor.System(), read, func(_ context.Context, tx *store.Tx) error {
				do(tx)
				require.Equal(t, []countedNotes{{7}}, rows)
				return nil
			})
		},
		"a bind, which takes its lock before it reads the clock": func(do func(*store.Tx)) error {
			return o.InBindTx(t.Context(), actor.System(), func(*store.Tx) {}, func(_ context.Context, tx store.BindTx) error { do(tx.Tx); return nil })
		},
	} {
		runs := 0
		require.NoError(t, call(func(tx *store.Tx) {
			runs++
			require.NotNil(t, tx.PgxConn, name)
		}))
		require.Equal(t, 1, runs, name)
	}
}

// TestGroupAssumesTogether lets three calls share a transaction; the second fails, and runs
// again without the others.
func TestGroupAssumesTogether(t *testing.T) {
	t.Parallel()
	o := newOptimisticTest(t)
	g := blockGroups(t, o.Store, o.db)
	refused := errors.New("refused")
	for _, result := range []error{nil, refused, nil} {
		g.addCall(t, func() error {
			return o.call(t.Context(), actor.System(), func(_ context.Context, tx *store.Tx) error { return errors.Join(writeAll(tx), result) })
		})
	}
	errs := g.run(t)
	require.NoError(t, errs[0])
	require.ErrorIs(t, errs[1], refused)
	require.NoError(t, errs[2])
	require.Equal(t, []bool{true, true, true, false}, o.assumed())
	for _, run := range o.runs[:3] {
		require.Equal(t, []countedNotes{{0}}, run.notes)
	}
	require.Equal(t, [3]int{2, 2, 2}, countWritten(t, g.db))
	var transactions int
	require.NoError(t, g.db.Pool.QueryRow(t.Context(), "select count(distinct xmin::text) from notes").Scan(&transactions))
	require.Equal(t, 1, transactions)
}
