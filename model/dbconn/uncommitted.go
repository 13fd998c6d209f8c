package dbconn

import (
	"errors"

	"github.com/jackc/pgx/v5"
)

// IsUncommitted reports whether a transaction is certainly not committed, given the error of
// the Send that had its commit: the batch with the commit was not sent, the connection is
// open and still in the transaction, or the server answered the commit with a rollback.
// After a lost connection that is not certain, even if pgconn.SafeToRetry calls the error safe
// to retry: it does so also for an answer that could not be read.
func IsUncommitted(conn *pgx.Conn, err error) bool {
	return errors.As(err, new(unsentError)) || errors.Is(err, pgx.ErrTxCommitRollback) || !conn.IsClosed() && conn.PgConn().TxStatus() != 'I'
}

// unsentError is an error before a batch was sent.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }
