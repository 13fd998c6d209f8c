package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/stretchr/testify/require"
)

// After the signal a server is not ready, answers requests on open and new connections
// for the drain delay, and asks their clients to close them.
func TestDrainingServerAnswersAndIsNotReady(t *testing.T) {
	t.Parallel()
	g := newProcessGroup(t)
	environment := map[string]string{}
	for _, pair := range append(g.environment, "PARAPET_ROLES=api", "PARAPET_DRAIN_DELAY=2s") {
		name, value, _ := strings.Cut(pair, "=")
		environment[name] = value
	}
	s, err := env.ParseAsWithOptions[settings](env.Options{Environment: environment})
	require.NoError(t, err)
	keys, err := s.parseKeys()
	require.NoError(t, err)
	a, err := newApp(t.Context(), s, keys, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(a.closeAll)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, signal := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.serveAndWork(ctx, listener, nil) }()

	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	reader := bufio.NewReader(conn)
	ask := func(path string) (status int, closes bool) {
		_, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		answer, err := http.ReadResponse(reader, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode, answer.Close
	}
	status, closes := ask("/readyz")
	require.Equal(t, http.StatusOK, status)
	require.False(t, closes)

	signalled := time.Now()
	signal()
	require.Eventually(t, a.draining.Load, time.Minute, time.Millisecond)
	status, closes = ask("/healthz")
	require.Equal(t, http.StatusOK, status)
	require.True(t, closes, "the client opens the next connection elsewhere")
	other, err := http.Get("http://" + listener.Addr().String() + "/readyz")
	require.NoError(t, err, "new connections are accepted")
	require.NoError(t, other.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, other.StatusCode)
	require.True(t, other.Close)
	require.NoError(t, <-ended)
	require.GreaterOrEqual(t, time.Since(signalled), 2*time.Second)
}
