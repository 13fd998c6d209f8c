package dbconn

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// ErrTransactionPooling means that a connection pooler gives a session to several clients.
var ErrTransactionPooling = errors.New("DATABASE_URL names a connection pooler that gives each transaction another session (PgBouncer's pool_mode transaction or statement): " +
	"session locks, LISTEN and prepared statements would be lost; use pool_mode session for this database, or the address of Postgres itself")

// sessionRounds is how often RequireSession looks: a pooler may by chance give the same
// session again.
const sessionRounds = 4

// RequireSession returns ErrTransactionPooling unless a connection keeps its session. It
// opens two: behind a pooler of transactions they share a session, or one changes it.
func RequireSession(ctx context.Context, url string) error {
	config, err := Config(url)
	if err != nil {
		return err
	}
	var sessions [2]struct {
		conn *pgx.Conn
		seen []string
	}
	for i := range sessions {
		if sessions[i].conn, err = pgx.ConnectConfig(ctx, config.ConnConfig); err != nil {
			return err
		}
		defer func() { _ = sessions[i].conn.Close(context.WithoutCancel(ctx)) }()
	}
	for range sessionRounds {
		for _, i := range []int{0, 0, 1} { // a pooler that takes turns between two sessions shows too
			results, err := sessions[i].conn.PgConn().Exec(ctx, "select pg_backend_pid()").ReadAll()
			if err != nil {
				return err
			}
			sessions[i].seen = append(sessions[i].seen, string(results[0].Rows[0][0]))
		}
	}
	one, other := slices.Compact(sessions[0].seen), slices.Compact(sessions[1].seen)
	if len(one) > 1 || len(other) > 1 || one[0] == other[0] {
		return ErrTransactionPooling
	}
	return nil
}
