package dbconn_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"parapet/model/dbconn"
)

func TestCopiesRunAmongTheStatements(t *testing.T) {
	t.Parallel()
	conn := connect(t, "create table steps (number int generated always as identity, step text)")
	insert := func(step string) *pgx.QueuedQuery {
		return &pgx.QueuedQuery{SQL: "insert into steps (step) values ($1)", Arguments: []any{step}}
	}
	copyOf := func(after int, step string) dbconn.Copy {
		return copySteps(after, strings.NewReader(step+"\n"))
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

	wrong := copySteps(0, strings.NewReader("two\tcolumns\n"))
	require.ErrorContains(t, dbconn.Send(t.Context(), conn, statements, []dbconn.Copy{wrong}), "extra data after last expected column")
	require.Len(t, steps(), 6, "nothing is sent after an error")
	broken := copySteps(0, iotest.ErrReader(errors.New("not JSON")))
	require.EqualError(t, dbconn.Send(t.Context(), conn, statements, []dbconn.Copy{broken}), "not JSON")
	require.Len(t, steps(), 6)

	missing := dbconn.Copy{Statement: "copy steps (step) from stdin", ColumnsQuery: "select place from steps"}
	require.ErrorContains(t, dbconn.Send(t.Context(), conn, nil, []dbconn.Copy{missing}), `column "place" does not exist`)
	require.NoError(t, conn.Close(t.Context()))
}

func TestCopyGetsTheTypesOfItsColumns(t *testing.T) {
	t.Parallel()
	conn := connect(t, "create table typed (number integer, step text)")
	var seen [][]uint32
	rows := dbconn.Copy{Statement: "copy typed (number, step) from stdin", ColumnsQuery: "select number, step from typed", Rows: func(types []uint32) io.Reader {
		seen = append(seen, types)
		return strings.NewReader("1\ta\n")
	}}
	require.NoError(t, dbconn.Send(t.Context(), conn, nil, []dbconn.Copy{rows}))
	_, err := conn.Exec(t.Context(), "alter table typed alter number type bigint")
	require.NoError(t, err)
	require.NoError(t, dbconn.Send(t.Context(), conn, nil, []dbconn.Copy{rows}))
	require.Equal(t, [][]uint32{{pgtype.Int4OID, pgtype.TextOID}, {pgtype.Int8OID, pgtype.TextOID}}, seen, "also after a migration")
	require.NoError(t, conn.Close(t.Context()))
}

// connect connects to a new server, and runs a statement.
func connect(t *testing.T, statement string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), newServer(t).URL("postgres"))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
	return conn
}

// copySteps copies lines in the text format to the table steps.
func copySteps(after int, lines io.Reader) dbconn.Copy {
	return dbconn.Copy{After: after, Statement: "copy steps (step) from stdin", ColumnsQuery: "select step from steps", Rows: func([]uint32) io.Reader { return lines }}
}
