package rest_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/visit"
	"parapet/rest"
)

// send writes a request as it is to a real server and returns its connection.
func send(t *testing.T, server *httptest.Server, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	return conn
}

func TestReadersWhoAreTooSlowAreClosed(t *testing.T) {
	t.Parallel()
	wrote := make(chan error, 1)
	write := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusOK)
		_, err := w.Write(make([]byte, 1<<20))
		wrote <- err
	}
	door := open(t, func(c *rest.Config) {
		c.Now, c.ReadWithin = time.Now, time.Nanosecond
		c.Beside = map[string]http.Handler{
			"/answer": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w) }),
			"/stream": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, end := visit.From(r.Context()).Lasting(context.WithoutCancel(r.Context()))
				defer end()
				write(w)
			}),
		}
	})
	server := httptest.NewServer(door)
	t.Cleanup(server.Close)
	send(t, server, "GET /answer HTTP/1.1\r\nHost: x\r\n\r\n")
	require.ErrorIs(t, <-wrote, os.ErrDeadlineExceeded)

	conn := send(t, server, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	require.NoError(t, <-wrote, "what goes on by design bounds its own writes")
}

func TestChunkedRequestEndsItsConnection(t *testing.T) {
	t.Parallel()
	door := open(t, func(*rest.Config) {})
	server := httptest.NewServer(door)
	t.Cleanup(server.Close)
	const head = "POST /v1/quotes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, request := range map[string]string{
		"both lengths": head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"chunks alone": head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	} {
		// What follows is what a proxy that believes the other length would not have sent.
		conn := send(t, server, request+"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		text, err := io.ReadAll(conn)
		require.NoError(t, err, name)
		require.Equal(t, 1, strings.Count(string(text), "HTTP/1.1 "), name)
	}
	conn := send(t, server, head+"Content-Length: 2\r\n\r\n{}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	text, err := io.ReadAll(bufio.NewReader(conn))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(text), "HTTP/1.1 "), "one length keeps the connection")
}
