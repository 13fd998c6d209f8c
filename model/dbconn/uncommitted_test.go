package dbconn_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/model/dbconn"
)

func queued(texts ...string) (statements []*pgx.QueuedQuery) {
	for _, text := range texts {
		statements = append(statements, &pgx.QueuedQuery{SQL: text})
	}
	return statements
}

// deafConn is a connection that loses every answer once deaf is set.
type deafConn struct {
	net.Conn

	deaf *bool
}

func (c deafConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if *c.deaf {
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

// TestLostAnswerOfACommitIsUncertain loses the answer of a transaction that Postgres
// commits. The driver calls its error safe to retry.
func TestLostAnswerOfACommitIsUncertain(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	config, err := pgx.ParseConfig(server.URL("postgres"))
	require.NoError(t, err)
	deaf := false
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return deafConn{conn, &deaf}, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "create table steps (step text)")
	require.NoError(t, err)
	statements := queued("begin", "insert into steps values ('a')", "commit")
	for _, statement := range statements {
		_, err := conn.Prepare(t.Context(), statement.SQL, statement.SQL)
		require.NoError(t, err)
	}
	deaf = true
	err = dbconn.Send(t.Context(), conn, statements, nil)
	require.Error(t, err)
	require.False(t, dbconn.IsUncommitted(conn, err), "%v", err)

	other, err := pgx.Connect(t.Context(), server.URL("postgres"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, other.QueryRow(t.Context(), "select count(*) from steps").Scan(&n))
		return n == 1
	}, 10*time.Second, 10*time.Millisecond)
	require.NoError(t, other.Close(t.Context()))
}

func TestTransactionThatDidNotCommitIsCertain(t *testing.T) {
	t.Parallel()
	conn := connect(t, "create table steps (step text primary key)")
	send := func(ctx context.Context, texts ...string) bool {
		err := dbconn.Send(ctx, conn, queued(texts...), nil)
		require.Error(t, err)
		return dbconn.IsUncommitted(conn, err)
	}
	require.True(t, send(t.Context(), "begin", "insert into nothing values (1)", "commit"), "a statement that cannot be prepared")
	require.EqualValues(t, 'I', conn.PgConn().TxStatus(), "nothing was sent")
	ended, end := context.WithCancel(t.Context())
	_, err := conn.Prepare(t.Context(), "begin", "begin")
	require.NoError(t, err)
	_, err = conn.Prepare(t.Context(), "commit", "commit")
	require.NoError(t, err)
	end()
	require.True(t, send(ended, "begin", "commit"), "a context that has ended")
	require.False(t, conn.IsClosed())
	require.True(t, send(t.Context(), "begin", "select 1 / 0", "commit"), "a statement that fails")
	require.EqualValues(t, 'E', conn.PgConn().TxStatus())
	require.True(t, dbconn.IsUncommitted(conn, pgx.ErrTxCommitRollback))
	require.NoError(t, conn.Close(t.Context()))
	require.False(t, dbconn.IsUncommitted(conn, io.EOF))
}
