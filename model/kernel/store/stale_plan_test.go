package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// A migration that changes the type of a column makes each prepared statement over it
// fail, on every connection of every running process.
func TestPreparedStatementsSurviveAMigration(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	position, ok := insertRecorded(t, s)
	require.True(t, ok)
	require.NotZero(t, position)
	notes := newNotes()
	operator := modeltest.Operator()
	list := func() *store.Page[note] {
		page, err := notes.List(t.Context(), s, operator, store.Filter{}, store.PageRequest{})
		require.NoError(t, err)
		total, _, err := page.Total(t.Context())
		require.NoError(t, err)
		require.Equal(t, len(page.Data), total)
		return page
	}
	attempts := 0
	read := func() (rows []noteRow) {
		require.NoError(t, s.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
			attempts++
			tx.QueueSelect(&rows, s.SelectStatement(new(noteRow)))
			return tx.Flush(ctx)
		}))
		return rows
	}
	warm := func() {
		for range 8 { // every connection prepares the statements
			list()
			read()
		}
	}
	warm()
	_, err := db.Pool.Exec(t.Context(), "alter table notes alter column product type varchar(200), alter column partner type varchar(200)")
	require.NoError(t, err)
	require.Len(t, list().Data, 1)
	warm()
	_, err = db.Pool.Exec(t.Context(), "alter table notes alter column product type text, alter column partner type text")
	require.NoError(t, err)
	attempts = 0
	require.Len(t, read(), 1)
	require.Equal(t, 2, attempts, "the first fails on the stale plan")
	_, ok = insertRecorded(t, s)
	require.True(t, ok)
	require.Len(t, list().Data, 2)
}
