package dbconn_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/model/dbconn"
)

func newServer(t *testing.T) *devpg.Server {
	t.Helper()
	server, err := devpg.Start(t.Context(), devpg.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	return server
}

func newStandby(t *testing.T, of *devpg.Server) *devpg.Server {
	t.Helper()
	standby, err := of.StartStandby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Stop(context.Background())) })
	return standby
}

func newMonitor(t *testing.T, url string) *dbconn.Monitor {
	t.Helper()
	monitor, err := dbconn.NewMonitor(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(monitor.Close)
	return monitor
}

// A hung primary keeps its connections open. When a standby takes over, calls that wait
// on such a connection fail at once, and the whole pool is free for the new primary.
func TestMonitorClosesConnectionsToReplacedServer(t *testing.T) {
	t.Parallel()
	primary := newServer(t)
	standby := newStandby(t, primary)
	url := devpg.FailoverURL(primary, standby, "postgres")
	monitor := newMonitor(t, url)
	config, err := dbconn.Config(url, monitor.Track)
	require.NoError(t, err)
	config.MaxConns = 3
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.NoError(t, monitor.Alive(t.Context()))
	failed := make(chan error)
	for range 3 {
		conn, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		go func() {
			defer conn.Release()
			_, err := conn.Exec(context.WithoutCancel(t.Context()), "select pg_sleep(600)")
			failed <- err
		}()
	}
	thaw, err := primary.Suspend(t.Context())
	t.Cleanup(thaw)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return monitor.Alive(t.Context()) != nil }, time.Minute, 10*time.Millisecond)
	require.NoError(t, standby.Promote(t.Context()))
	for range 3 {
		require.Error(t, <-failed)
	}
	require.Eventually(t, func() bool { return monitor.Alive(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second) // the driver waits 15 s for a hung server
	defer cancel()
	for range 3 {
		conn, err := pool.Acquire(soon)
		require.NoError(t, err)
		defer conn.Release()
		var standby bool
		require.NoError(t, conn.QueryRow(soon, "select pg_is_in_recovery()").Scan(&standby))
		require.False(t, standby)
	}
}

// One lost connection does not mean that the server is lost.
func TestMonitorReconnectsAfterLostConnection(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	monitor := newMonitor(t, server.URL("postgres"))
	require.NoError(t, monitor.Alive(t.Context()))
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	for range 5 {
		_, err = conn.Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'")
		require.NoError(t, err)
		require.NoError(t, monitor.Alive(t.Context()))
	}
}

// An error about too many connections counts as an answer of the server.
func TestTooManyConnectionsCountsAsAlive(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), "create role crowded login connection limit 0")
	require.NoError(t, err)
	config, err := pgx.ParseConfig(server.URL("postgres"))
	require.NoError(t, err)
	monitor := newMonitor(t, "postgres://crowded@/postgres?host="+config.Host)
	require.NoError(t, monitor.Alive(t.Context()))
}

func TestConfigRejectsStandby(t *testing.T) {
	t.Parallel()
	primary := newServer(t)
	standby := newStandby(t, primary)
	for server, refused := range map[*devpg.Server]bool{primary: false, standby: true} {
		config, err := dbconn.Config(server.URL("postgres"))
		require.NoError(t, err)
		conn, err := pgx.ConnectConfig(t.Context(), config.ConnConfig)
		if refused {
			require.ErrorContains(t, err, "read only")
			continue
		}
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
	}
}

// Connections to a server that accepts them and sends nothing are closed.
func TestConnectTimesOut(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, listener.Close()) })
	url := "postgres://postgres@" + listener.Addr().String() + "/postgres?sslmode=disable"
	config, err := dbconn.Config(url)
	require.NoError(t, err)
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = pgx.ConnectConfig(limit, config.ConnConfig)
	require.Error(t, err)
	require.NoError(t, limit.Err(), "it would have waited for ever")
	monitor := newMonitor(t, url)
	require.ErrorIs(t, monitor.Alive(t.Context()), dbconn.ErrSilent)
	monitor.Close()
	require.ErrorIs(t, monitor.Alive(t.Context()), dbconn.ErrClosed)
}
