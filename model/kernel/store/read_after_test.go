package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/store"
	"parapet/model/kernel/wal"
)

// insertRecorded inserts a note and returns the position after the commit.
func insertRecorded(t *testing.T, s *store.Store) (wal.Position, bool) {
	t.Helper()
	var recorder wal.Recorder
	require.NoError(t, s.InTx(wal.WithRecorder(t.Context(), &recorder), actor.System(), func(_ context.Context, tx *store.Tx) error {
		row := newNote("acme")
		tx.QueueInsert(&row)
		return nil
	}))
	return recorder.Last()
}

// endOfLog returns the position after the last record of the log.
func endOfLog(t *testing.T, db *dbpool.Database) (lsn uint64) {
	t.Helper()
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select pg_current_wal_insert_lsn() - '0/0'").Scan(&lsn))
	return lsn
}

func TestCommitRecordsThePositionAfterIt(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	before := endOfLog(t, db)
	position, ok := insertRecorded(t, s)
	require.True(t, ok)
	require.EqualValues(t, 1, position.Timeline)
	require.Greater(t, position.LSN, before, "it includes the insert")
	require.LessOrEqual(t, position.LSN, endOfLog(t, db))
	second, ok := insertRecorded(t, s)
	require.True(t, ok)
	require.Greater(t, second.LSN, position.LSN)

	var recorder wal.Recorder
	require.ErrorIs(t, s.InTx(wal.WithRecorder(t.Context(), &recorder), actor.System(), func(context.Context, *store.Tx) error { return context.Canceled }), context.Canceled)
	_, ok = recorder.Last()
	require.False(t, ok, "nothing was committed")
}

// TestWriteSucceedsWithoutItsPosition shadows the function that returns the position by
// one that fails: the commit came first, so the write must not be reported as failed.
func TestWriteSucceedsWithoutItsPosition(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	_, err := db.Pool.Exec(t.Context(), `create function public.pg_walfile_name(pg_lsn) returns text language plpgsql as $$ begin raise 'not here'; end $$`)
	require.NoError(t, err)
	var name string
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select current_database()").Scan(&name))
	_, err = db.Pool.Exec(t.Context(), "alter database "+name+" set search_path = public, pg_catalog")
	require.NoError(t, err)
	db.Pool.Reset()
	_, ok := insertRecorded(t, s)
	require.False(t, ok)
	require.Equal(t, 1, countWritten(t, db)[0])
}
