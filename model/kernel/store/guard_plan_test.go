package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/kernel/transition"
	"parapet/model/modeltest"
)

// An index that begins with the status holds all rows of a partner with it. If the planner
// chose it for the update of one row, each update would read all of them.
func TestGuardOfStatusUsesNoIndex(t *testing.T) {
	t.Parallel()
	s, db := openNotes(t)
	_, err := db.Pool.Exec(t.Context(), "alter table notes drop constraint notes_pkey; create index notes_status_idx on notes (partner, status, product, id desc)")
	require.NoError(t, err)
	rows := []noteRow{newNote("acme"), newNote("acme")}
	insertNotes(t, s, rows...)
	require.NoError(t, s.InTx(t.Context(), actor.System(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := store.ChangeStatus(ctx, tx, &rows[0], noteTransitions, &rows[0].Status, noteDone); err != nil {
			return err
		}
		set := transition.NewSet(tx, "notes", 1)
		if _, err := transition.Change(set, &rows[1].RowHeader, noteTransitions, &rows[1].Status, noteDone); err != nil {
			return err
		}
		set.QueueUpdate()
		if err := tx.Flush(ctx); err != nil {
			return err
		}
		_, err := tx.PgxConn.Exec(ctx, dbconn.StablePlansSQL)
		require.NoError(t, err)
		plans := modeltest.ExplainPrepared(ctx, t, tx.PgxConn, "%update%notes%")
		require.Len(t, plans, 2)
		for _, plan := range plans {
			require.Contains(t, plan, "notes_status_idx", "no other index is left")
			require.NotRegexp(t, `Index Cond:.*status`, plan)
		}
		return nil
	}))
}
