package dbconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Timeouts of a connection whose server does not answer.
const (
	connectTimeout = 2 * time.Second // per address; connect_timeout in an address overrides it
	unackedTimeout = 10 * time.Second
)

// keepAlive detects a dead machine while a connection waits for an answer.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3}

// Option changes how connections are opened.
type Option func(*pgxpool.Config)

// Config parses the address of a database with one or several servers. Times are UTC,
// in the session and when read, wherever the process runs. Transactions of a dead
// process are rolled back within a minute, so that no transaction waits longer for
// their locks.
func Config(url string, options ...Option) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	boundConnects(&config.ConnConfig.Config)
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	config.AfterConnect = prepareSession
	for _, option := range options {
		option(config)
	}
	return config, nil
}

// boundConnects limits the time of connects and rejects standbys.
func boundConnects(config *pgconn.Config) {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	if config.ValidateConnect == nil { // no target_session_attrs
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	dialer := &net.Dialer{KeepAliveConfig: keepAlive, Control: boundUnacknowledged}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}
}

// sessionSettings end the transactions of a dead machine, not only of a dead process, and
// leave out the compiler: compiling a list's statement takes longer than running it. They
// are no startup parameters, because PgBouncer refuses those that it does not know.
const sessionSettings = "set idle_in_transaction_session_timeout = '45s'; set jit = off"

// prepareSession applies sessionSettings. It also lets the server detect that a client
// died while a statement runs, above all while it waits for a lock; some servers (Postgres
// 14 on macOS) do not support that.
func prepareSession(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.PgConn().Exec(ctx, sessionSettings).ReadAll(); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, "set client_connection_check_interval = '5s'")
	if refused := new(pgconn.PgError); errors.As(err, &refused) {
		return nil
	}
	return err
}
