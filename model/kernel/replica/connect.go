package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const connectedKey = "parapet replica"

// connected is what a connection knows about its server since it was opened.
type connected struct {
	at  time.Time
	lsn uint64 // replayed when the connection was opened
}

// errBehindObservation means that a connection may belong to a server that has restarted
// since it was observed, and has replayed less than then.
var errBehindObservation = errors.New("the replica has restarted since it was observed")

// Connect is the option of dbconn for a pool of a replica. It accepts standbys only, so
// that a pool never reconnects to a promoted server, and refuses writes.
func Connect(config *pgxpool.Config) {
	config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsStandby
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
	prepare := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		at := connected{at: time.Now()}
		if err := conn.QueryRow(ctx, "select coalesce(pg_last_wal_replay_lsn() - '0/0', 0)").Scan(&at.lsn); err != nil {
			return err
		}
		conn.PgConn().CustomData()[connectedKey] = at
		return prepare(ctx, conn)
	}
	config.PrepareConn = checkConnection
}

// Observe is the option of dbconn for a pool that observes a replica, also after its
// promotion.
func Observe(config *pgxpool.Config) {
	config.ConnConfig.ValidateConnect = nil
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
}

// checkConnection refuses a connection that may have replayed less than its read needs.
// A standby that restarts after a crash begins at an earlier position and breaks its
// connections; so a connection that is older than the observation is as far as observed.
func checkConnection(ctx context.Context, conn *pgx.Conn) (bool, error) {
	need, ok := ctx.Value(requiredKey{}).(required)
	if !ok {
		return true, nil
	}
	since, _ := conn.PgConn().CustomData()[connectedKey].(connected)
	if since.at.Before(need.observedAt) || since.lsn >= need.lsn {
		return true, nil
	}
	return true, errBehindObservation
}

// checkAddress rejects an address with several servers: a position that one of them has
// replayed says nothing about another.
func checkAddress(config *pgxpool.Config) error {
	c := config.ConnConfig
	for _, other := range c.Fallbacks { // the same server without TLS is one of them
		if other.Host != c.Host || other.Port != c.Port {
			return fmt.Errorf("the address of a replica names one server; write %s and %s as two replicas", c.Host, other.Host)
		}
	}
	return nil
}
