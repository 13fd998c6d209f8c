package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
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
		set := store.NewTransitionSet(tx, "notes", 1)
		if _, err := store.TransitionInSet(set, &rows[1].RowHeader, noteTransitions, &rows[1].Status, noteDone); err != nil {
			return err
		}
		set.QueueUpdate()
		if err := tx.Flush(ctx); err != nil {
			return err
		}
		plans := explainPrepared(ctx, t, tx.PgxConn, "%update%notes%")
		require.Len(t, plans, 2)
		for _, plan := range plans {
			require.Contains(t, plan, "notes_status_idx", "no other index is left")
			require.NotRegexp(t, `Index Cond:.*status`, plan)
		}
		return nil
	}))
}

// explainPrepared returns the generic plans of the connection's prepared statements whose
// text matches a pattern.
func explainPrepared(ctx context.Context, t *testing.T, conn *pgx.Conn, pattern string) (plans []string) {
	t.Helper()
	_, err := conn.Exec(ctx, "set local plan_cache_mode = force_generic_plan; set local enable_seqscan = off", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
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
