package dbconn

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// IsStalePlan reports whether a statement was prepared before a migration changed the type
// of one of its columns: "cached plan must not change result type". Its code, "feature not
// supported", has other causes too.
func IsStalePlan(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery"
}

// RetryStalePlan runs a read, and once again if its plan was stale and it ran on a pool:
// then all connections of the pool are replaced, because they have prepared the statement
// too. A single connection may be that of a transaction, which the error has aborted.
func RetryStalePlan(on any, read func() error) error {
	err := read()
	if pool, ok := on.(*pgxpool.Pool); ok && IsStalePlan(err) {
		pool.Reset()
		return read()
	}
	return err
}

// IsCancelledStatement reports whether the server cancelled a statement, as it does after
// statement_timeout.
func IsCancelledStatement(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "57014"
}

// IsRetryable reports whether repeating the transaction can succeed: a deadlock, a
// serialization failure or a stale plan.
func IsRetryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001") || IsStalePlan(err)
}
