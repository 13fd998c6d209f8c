package dbconn

import (
	"errors"

	"github.com/jackc/pgx/v5"
)

// IsUncommitted reports whether a transaction that failed with an error is certainly not
// committed: its connection is open and still in the transaction, or the server answered
// the commit with a rollback. After a lost connection that is not certain.
func IsUncommitted(conn *pgx.Conn, err error) bool {
	return errors.Is(err, pgx.ErrTxCommitRollback) || !conn.IsClosed() && conn.PgConn().TxStatus() != 'I'
}
