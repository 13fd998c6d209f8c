package dbconn_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"parapet/model/dbconn"
	"parapet/model/modeltest"
)

func TestSessionsUseUTCAndEndWithADeadProcess(t *testing.T) {
	t.Parallel()
	config, err := dbconn.Config("postgres://parapet@localhost/parapet?timezone=Asia/Taipei&jit=on")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"timezone": "UTC", "jit": "on"}, config.ConnConfig.RuntimeParams, "PgBouncer refuses other parameters of ours")
	require.NotNil(t, config.ConnConfig.ValidateConnect, "a standby is refused")
	address := modeltest.URL(t)
	if strings.Contains(address, "?") {
		address += "&jit=on"
	}
	config, err = dbconn.Config(address)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	var settings [4]string
	require.NoError(t, pool.QueryRow(t.Context(), "select current_setting('timezone'), current_setting('jit'), current_setting('idle_in_transaction_session_timeout'), current_setting('client_connection_check_interval')").
		Scan(&settings[0], &settings[1], &settings[2], &settings[3]))
	require.Equal(t, [4]string{"UTC", "off", "45s", "5s"}, settings)
}

func TestConnectTimeoutOfAnAddressIsKept(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]time.Duration{"": 2 * time.Second, "?connect_timeout=7": 7 * time.Second} {
		config, err := dbconn.Config("postgres://parapet@localhost/parapet" + address)
		require.NoError(t, err)
		require.Equal(t, want, config.ConnConfig.ConnectTimeout)
	}
}

func TestMalformedAddressIsRefused(t *testing.T) {
	t.Parallel()
	_, err := dbconn.Config("postgres://[::1/parapet")
	require.ErrorContains(t, err, "database address: ")
	_, err = dbconn.NewMonitor(t.Context(), "postgres://[::1/parapet")
	require.ErrorContains(t, err, "database address: ")
}

func TestOptionsChangeTheConfiguration(t *testing.T) {
	t.Parallel()
	var order string
	option := func(name string) dbconn.Option {
		return func(config *pgxpool.Config) {
			order += name
			config.MaxConns = 3
		}
	}
	config, err := dbconn.Config("postgres://parapet@localhost/parapet", option("a"), option("b"))
	require.NoError(t, err)
	require.Equal(t, "ab", order)
	require.EqualValues(t, 3, config.MaxConns)
}

func TestOnlyContextsOfATransactionAreMarked(t *testing.T) {
	t.Parallel()
	marked := dbconn.MarkInTransaction(t.Context())
	require.NoError(t, dbconn.RequireNoTransaction(t.Context()))
	require.ErrorIs(t, dbconn.RequireNoTransaction(marked), dbconn.ErrInTransaction)
	child, cancel := context.WithCancel(context.WithoutCancel(marked))
	defer cancel()
	require.ErrorIs(t, dbconn.RequireNoTransaction(child), dbconn.ErrInTransaction, "a context derived from it")
}

// The monitor passes on why a server cannot be reached, without waiting for its time limit.
func TestUnreachableServerIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	monitor := newMonitor(t, "postgres://postgres@"+address+"/postgres?sslmode=disable")
	require.ErrorContains(t, monitor.Alive(t.Context()), "the database cannot be reached")
	require.NotErrorIs(t, monitor.Alive(t.Context()), dbconn.ErrSilent)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, monitor.Alive(cancelled))
	monitor.Close()
	require.ErrorIs(t, monitor.Alive(t.Context()), dbconn.ErrClosed)
}
