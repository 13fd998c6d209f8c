package store_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/kernel/transition"
	"parapet/model/modeltest"
)

var noteTransitions = []store.Transition[noteStatus]{
	{From: noteOpen, To: noteDone, Event: event.ClaimApproved},
	{From: noteDone, To: noteClosed, Event: event.ClaimClosed},
}

// inTx runs one transaction of the system.
func inTx(t *testing.T, s *store.Store, do func(context.Context, *store.Tx) error) error {
	t.Helper()
	return s.InTx(t.Context(), actor.System(), do)
}

func TestLockedRowIsTheCallersOwn(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	row := newNote("acme")
	insertNotes(t, s, row)
	for caller, found := range map[string]bool{"acme": true, "globex": false} {
		err := s.InTx(t.Context(), modeltest.Partner(caller), func(ctx context.Context, tx *store.Tx) error {
			locked := new(noteRow)
			if err := tx.LockRow(ctx, locked, row.ID, store.ResourceMessage); err != nil {
				return err
			}
			require.Equal(t, row.ID, locked.ID)
			return nil
		})
		require.Equal(t, found, err == nil)
		if !found {
			require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
		}
	}
	err := s.InTx(t.Context(), modeltest.Operator(), func(ctx context.Context, tx *store.Tx) error {
		require.NoError(t, tx.LockRow(ctx, new(noteRow), row.ID, store.ResourceMessage))
		return tx.LockRow(ctx, new(noteRow), uuid.Max, store.ResourceMessage)
	})
	require.Equal(t, "There is no message with this id.", modeltest.DomainError(t, err).Detail)
}

func TestLockedRowCannotBeLockedTwice(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	row := newNote("acme")
	insertNotes(t, s, row)
	require.NoError(t, inTx(t, s, func(ctx context.Context, tx *store.Tx) error {
		require.NoError(t, tx.LockRow(ctx, new(noteRow), row.ID, store.ResourceMessage))
		return inTx(t, s, func(ctx context.Context, other *store.Tx) error { //nolint:contextcheck // another transaction
			var free []*noteRow
			require.NoError(t, store.LockBatch(other.NewSelect().Model(&free), 10).Scan(ctx))
			require.Empty(t, free, "rows that others have locked are skipped")
			return nil
		})
	}))
}

func TestQueuedLockSkipsARowThatAnotherHolds(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	row := newNote("acme")
	insertNotes(t, s, row)
	lock := func(caller actor.Actor, id uuid.UUID, do func(*store.Tx)) (locked bool) {
		locked = true // as a rolled back attempt may have left it
		read := new(noteRow)
		err := s.InTxWithPrelude(t.Context(), caller, func(tx *store.Tx) { tx.QueueLock(read, id, &locked) }, func(_ context.Context, tx *store.Tx) error {
			if locked {
				require.Equal(t, row.ID, read.ID)
				require.False(t, tx.Now.Before(read.UpdatedAt))
			}
			do(tx)
			return nil
		})
		require.NoError(t, err)
		return locked
	}
	nothing := func(*store.Tx) {}
	require.True(t, lock(actor.System(), row.ID, func(*store.Tx) {
		require.False(t, lock(actor.System(), row.ID, nothing), "it does not wait")
	}))
	require.True(t, lock(modeltest.Partner("acme"), row.ID, nothing))
	require.False(t, lock(modeltest.Partner("globex"), row.ID, nothing), "the row of another partner")
	require.False(t, lock(actor.System(), uuid.Max, nothing))
	_, err := s.Pool.Exec(t.Context(), "update notes set updated_at = now() + interval '1 hour'")
	require.NoError(t, err)
	require.True(t, lock(actor.System(), row.ID, nothing), "a server's clock was ahead")
}

func TestLockBatchTakesAtMostItsSize(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	insertNotes(t, s, newNote("acme"), newNote("acme"), newNote("acme"))
	require.NoError(t, inTx(t, s, func(ctx context.Context, tx *store.Tx) error {
		var rows []*noteRow
		require.NoError(t, store.LockBatch(tx.NewSelect().Model(&rows), 2).Scan(ctx))
		require.Len(t, rows, 2)
		return nil
	}))
}

// Times of a row never decrease, although another machine's transaction may have read a later clock.
func TestClockAdvancesToTheLastChangeOfALockedRow(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	future, past := newNote("acme"), newNote("acme")
	future.UpdatedAt = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	insertNotes(t, s, future, past)
	require.NoError(t, inTx(t, s, func(ctx context.Context, tx *store.Tx) error {
		require.Equal(t, tx.Clock, tx.Now)
		require.NoError(t, tx.LockRow(ctx, new(noteRow), past.ID, store.ResourceMessage))
		require.Equal(t, tx.Clock, tx.Now)
		require.NoError(t, tx.LockRow(ctx, new(noteRow), future.ID, store.ResourceMessage))
		require.Equal(t, future.UpdatedAt, tx.Now)
		require.True(t, tx.Clock.Before(tx.Now), "decisions still use the clock")
		before := tx.Clock
		require.NoError(t, tx.RefreshClock(ctx))
		require.True(t, tx.Clock.After(before))
		require.Equal(t, future.UpdatedAt, tx.Now, "the instant never moves backward")
		tx.Now = before
		require.NoError(t, tx.RefreshClock(ctx))
		require.Equal(t, tx.Clock, tx.Now)
		return nil
	}))
}

func TestNewHeadersSortInTheOrderOfTheirCreation(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	require.NoError(t, inTx(t, s, func(_ context.Context, tx *store.Tx) error {
		before := tx.NewHeader("acme")
		require.Equal(t, store.RowHeader{ID: before.ID, Partner: "acme", Version: 1, CreatedAt: tx.Now, UpdatedAt: tx.Now}, before)
		for range 300 {
			next := tx.NewHeader("acme")
			require.Negative(t, bytes.Compare(before.ID[:], next.ID[:]))
			before = next
		}
		return nil
	}))
}

func TestStatusChangesOnlyAsAllowed(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	row := newNote("acme")
	insertNotes(t, s, row)
	change := func(row noteRow, to noteStatus) (kind event.Type, changed noteRow, err error) {
		err = inTx(t, s, func(ctx context.Context, tx *store.Tx) error {
			kind, err = store.ChangeStatus(ctx, tx, &row, noteTransitions, &row.Status, to, "position")
			return err
		})
		return kind, row, err
	}
	for to, detail := range map[noteStatus]string{noteOpen: "It is open already.", noteClosed: "It is open and cannot become closed."} {
		_, unchanged, err := change(row, to)
		refusal := modeltest.DomainError(t, err)
		require.Equal(t, []string{string(apperr.CodeStateConflict), detail}, []string{string(refusal.Code), refusal.Detail})
		require.Equal(t, row, unchanged)
	}
	row.Position, row.Product = 7, "unsaved"
	kind, changed, err := change(row, noteDone)
	require.NoError(t, err)
	require.Equal(t, event.ClaimApproved, kind)
	require.EqualValues(t, 2, changed.Version)
	var stored noteRow
	require.NoError(t, s.QueryPreparedRow(t.Context(), db.Pool, &stored, s.SelectStatement(new(noteRow))))
	require.Equal(t, changed.Status, stored.Status)
	require.Equal(t, []any{int64(2), int64(7), "quake-circle"}, []any{stored.Version, stored.Position, stored.Product})
	require.True(t, changed.UpdatedAt.Equal(stored.UpdatedAt))

	for name, outdated := range map[string]func(*noteRow){
		"another version": func(r *noteRow) { r.Version-- }, "another status": func(r *noteRow) { r.Status = noteOpen }, "another partner": func(r *noteRow) { r.Partner = "globex" },
	} {
		copied := stored
		outdated(&copied)
		to := noteClosed
		if copied.Status == noteOpen {
			to = noteDone
		}
		_, _, err := change(copied, to)
		require.Equal(t, store.VersionConflict().Detail, modeltest.DomainError(t, err).Detail, name)
	}
}

func TestSetOfRowsChangesStatusTogether(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	rows := []noteRow{newNote("acme"), newNote("globex"), newNote("acme")}
	rows[1].Status = noteDone
	insertNotes(t, s, rows...)
	changeAll := func(rows []noteRow, to ...noteStatus) error {
		return inTx(t, s, func(_ context.Context, tx *store.Tx) error {
			set := transition.NewSet(tx, "notes", len(rows))
			for i := range rows {
				if _, err := transition.Change(set, &rows[i].RowHeader, noteTransitions, &rows[i].Status, to[i]); err != nil {
					return err
				}
			}
			set.QueueUpdate()
			return nil
		})
	}
	statuses := func() (all string) {
		require.NoError(t, db.Pool.QueryRow(t.Context(), "select string_agg(status || version, ' ' order by id) from notes").Scan(&all))
		return all
	}
	copied := func(change func([]noteRow)) []noteRow {
		clone := append([]noteRow{}, rows...)
		change(clone)
		return clone
	}
	for name, change := range map[string]func([]noteRow){
		"version": func(r []noteRow) { r[2].Version = 4 }, "status": func(r []noteRow) { r[1].Status = noteOpen }, "partner": func(r []noteRow) { r[0].Partner = "globex" },
	} {
		outdated := copied(change)
		to := []noteStatus{noteDone, noteClosed, noteDone}
		if outdated[1].Status == noteOpen {
			to[1] = noteDone
		}
		require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(changeAll(outdated, to...)), name)
		require.Equal(t, "open1 done1 open1", statuses(), "all or none")
	}
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(changeAll(copied(func([]noteRow) {}), noteDone, noteDone, noteDone)), "not allowed")
	require.NoError(t, changeAll(rows, noteDone, noteClosed, noteDone))
	require.Equal(t, "done2 closed2 done2", statuses())
	require.EqualValues(t, 2, rows[0].Version)
	require.NoError(t, changeAll(nil), "an empty set writes nothing")
}

func TestGuardedUpdateChangesExactlyThatManyRows(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	insertNotes(t, s, newNote("acme"), newNote("acme"))
	for n, want := range map[int]apperr.Code{1: apperr.CodeStateConflict, 2: "", 3: apperr.CodeStateConflict} {
		err := inTx(t, s, func(_ context.Context, tx *store.Tx) error {
			tx.QueueGuarded(n, "update notes set position = $1 where partner = $2", 5, "acme")
			return nil
		})
		require.Equal(t, want == "", err == nil)
		if want != "" {
			require.Equal(t, want, apperr.CodeOf(err))
		}
	}
}

// firstRows and secondRows are collections; each notes when it is written.
type (
	firstRows  struct{ names []string }
	secondRows struct{ names []string }
)

var errNothingCollected = errors.New("nothing was collected")

func (r *firstRows) Append(other any) { r.names = append(r.names, other.(*firstRows).names...) }

func (r *secondRows) Append(other any)               { r.names = append(r.names, other.(*secondRows).names...) }
func (r *firstRows) QueueInsert(tx *store.Tx) error  { return queueNames(tx, r.names) }
func (r *secondRows) QueueInsert(tx *store.Tx) error { return queueNames(tx, r.names) }

// queueNames inserts one note per name; the table orders them by their position.
func queueNames(tx *store.Tx, names []string) error {
	for _, name := range names {
		tx.Batch.Queue("insert into notes (id, partner, product, position) select gen_random_uuid(), 'acme', $1, count(*) from notes", name)
	}
	return nil
}

func TestCollectedRowsAreWrittenInTheirOrderAfterEvents(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	require.NoError(t, inTx(t, s, func(_ context.Context, tx *store.Tx) error {
		row := newNote("acme")
		require.NoError(t, appendNoteEvent(tx, &row))
		store.Collect[secondRows](tx, store.PostingCollection).names = []string{"posting"}
		for _, name := range []string{"entry", "another entry"} {
			timeline := store.Collect[firstRows](tx, store.TimelineCollection)
			timeline.names = append(timeline.names, name)
		}
		if len(store.Collect[firstRows](tx, store.TimelineCollection).names) != 2 {
			return errNothingCollected
		}
		return nil
	}))
	var order string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select string_agg(product, ', ' order by position) from notes").Scan(&order))
	require.Equal(t, "entry, another entry, posting", order)
	require.Equal(t, 1, countWritten(t, db)[1])
}

// The plan of a prepared statement would outlive the growth of its tables.
func TestScannedRowsArePlannedEachTime(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	first, second := newNote("acme"), newNote("globex")
	insertNotes(t, s, first)
	insertNotes(t, s, second)
	require.NoError(t, inTx(t, s, func(ctx context.Context, tx *store.Tx) error {
		var rows []*noteRow
		query := tx.NewSelect().Model(&rows).Where("no.id = any ($1)").Where("no.partner <> ?", "initech").OrderExpr("no.partner")
		for range 2 { // the second replaces the rows of the first
			require.NoError(t, tx.ScanRows(ctx, query, &rows, []uuid.UUID{second.ID, first.ID}))
			require.Len(t, rows, 2)
			require.Equal(t, []uuid.UUID{first.ID, second.ID}, []uuid.UUID{rows[0].ID, rows[1].ID})
		}
		var kept int
		require.NoError(t, tx.NewRaw("select count(*) from pg_prepared_statements where statement like '%any ($1)%'").Scan(ctx, &kept))
		require.Zero(t, kept)
		require.NoError(t, tx.ScanRows(ctx, query, &rows, []uuid.UUID{}))
		require.Empty(t, rows)
		return nil
	}))
	require.Error(t, inTx(t, s, func(ctx context.Context, tx *store.Tx) error {
		var rows []*noteRow
		return tx.ScanRows(ctx, tx.NewSelect().Model(&rows).Where("no.id = any ($1)"), &rows, "no ids")
	}))
}

func TestNoRowsQueueNoStatement(t *testing.T) {
	t.Parallel()
	s, _ := openNotes(t)
	require.NoError(t, inTx(t, s, func(_ context.Context, tx *store.Tx) error {
		require.NoError(t, tx.QueueInsertRows([]*noteRow{}))
		require.NoError(t, tx.QueueUpdateRows([]*noteRow(nil), "version"))
		require.Empty(t, tx.Batch.QueuedQueries)
		note := newNote("acme")
		require.NoError(t, tx.QueueInsertRows([]*noteRow{&note}))
		require.Len(t, tx.Batch.QueuedQueries, 1)
		return nil
	}))
}
