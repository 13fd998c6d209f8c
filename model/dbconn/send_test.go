package dbconn_test

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/dbconn"
)

func TestCopiesRunAmongTheStatements(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), newServer(t).URL("postgres"))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "create table steps (number int generated always as identity, step text)")
	require.NoError(t, err)
	insert := func(step string) *pgx.QueuedQuery {
		return &pgx.QueuedQuery{SQL: "insert into steps (step) values ($1)", Arguments: []any{step}}
	}
	copyOf := func(after int, step string) dbconn.Copy {
		return dbconn.Copy{After: after, Statement: "copy steps (step) from stdin", Rows: strings.NewReader(step + "\n")}
	}
	steps := func() (all []string) {
		rows, err := conn.Query(t.Context(), "select step from steps order by number")
		require.NoError(t, err)
		all, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return all
	}
	statements := []*pgx.QueuedQuery{insert("b"), insert("e")}
	require.NoError(t, dbconn.Send(t.Context(), conn, statements, []dbconn.Copy{copyOf(0, "a"), copyOf(1, "c"), copyOf(1, "d"), copyOf(2, "f")}))
	require.Equal(t, []string{"a", "b", "c", "d", "e", "f"}, steps())

	wrong := dbconn.Copy{After: 0, Statement: "copy steps (step) from stdin", Rows: strings.NewReader("two\tcolumns\n")}
	require.ErrorContains(t, dbconn.Send(t.Context(), conn, statements, []dbconn.Copy{wrong}), "extra data after last expected column")
	require.Len(t, steps(), 6, "nothing is sent after an error")
	broken := dbconn.Copy{After: 0, Statement: "copy steps (step) from stdin", Rows: iotest.ErrReader(errors.New("not JSON"))}
	require.EqualError(t, dbconn.Send(t.Context(), conn, statements, []dbconn.Copy{broken}), "not JSON")
	require.Len(t, steps(), 6)
	require.NoError(t, conn.Close(t.Context()))
}
