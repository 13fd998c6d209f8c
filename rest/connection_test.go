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

	"parapet/internal/gateway"
	"parapet/rest"
)

// sendRaw writes the bytes of a request to a real server and returns its connection.
func sendRaw(t *testing.T, server *httptest.Server, request string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, request)
	require.NoError(t, err)
	return conn
}

func TestSlowReadersAreDisconnected(t *testing.T) {
	t.Parallel()
	wrote := make(chan error, 1)
	write := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusOK)
		_, err := w.Write(make([]byte, 1<<20))
		wrote <- err
	}
	handler := newHandler(t, func(c *rest.Config) {
		c.Now, c.WriteTimeout = time.Now, time.Nanosecond
		c.SharedHandlers = map[string]http.Handler{
			"/answer": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w) }),
			"/stream": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, end := gateway.FromContext(r.Context()).WithoutDeadline(context.WithoutCancel(r.Context()))
				defer end()
				write(w)
			}),
		}
	})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	sendRaw(t, server, "GET /answer HTTP/1.1\r\nHost: x\r\n\r\n")
	require.ErrorIs(t, <-wrote, os.ErrDeadlineExceeded)

	conn := sendRaw(t, server, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n")
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	require.NoError(t, <-wrote, "what goes on by design bounds its own writes")
}

func TestChunkedRequestEndsItsConnection(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, func(*rest.Config) {})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	const head = "POST /v1/quotes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, request := range map[string]string{
		"both lengths": head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"chunks alone": head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	} {
		// A proxy that uses the other length would not have sent the rest.
		conn := sendRaw(t, server, request+"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		text, err := io.ReadAll(conn)
		require.NoError(t, err, name)
		require.Equal(t, 1, strings.Count(string(text), "HTTP/1.1 "), name)
	}
	conn := sendRaw(t, server, head+"Content-Length: 2\r\n\r\n{}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	text, err := io.ReadAll(bufio.NewReader(conn))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(text), "HTTP/1.1 "), "one length keeps the connection")
}

func TestUnparsableRequestsReturnProblemDocuments(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(newHandler(t, func(*rest.Config) {}))
	server.Listener = rest.ProblemListener(server.Listener)
	server.Config.MaxHeaderBytes = 1 << 10
	server.Start()
	t.Cleanup(server.Close)
	for name, test := range map[string]struct {
		request, detail string
		status          int
	}{
		"headers too long":    {"GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 8<<10) + "\r\n\r\n", "fewer or shorter headers", 431},
		"no HTTP":             {"hello\r\n\r\n", "cannot be read", 400},
		"no host":             {"GET / HTTP/1.1\r\n\r\n", "missing required Host header", 400},
		"malformed header":    {"GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", "HTTP", 400},
		"two lengths":         {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "HTTP", 400},
		"unknown expectation": {"POST / HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\nContent-Length: 0\r\n\r\n", "100-continue", 417},
		"unknown encoding":    {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", "chunked", 400},
		"unknown version":     {"GET / HTTP/3.7\r\nHost: x\r\n\r\n", "HTTP/1.1", 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := http.ReadResponse(bufio.NewReader(sendRaw(t, server, test.request)), nil)
			require.NoError(t, err)
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, test.status, answer.StatusCode)
			require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
			require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"))
			p := requireProblem(t, &reply{answer.StatusCode, answer.Header, body})
			require.Equal(t, test.status, p.Status)
			require.Contains(t, p.Detail, test.detail)
			require.Equal(t, answer.Header.Get("X-Request-Id"), p.RequestID)
		})
	}
	answer, err := http.Get(server.URL + "/healthz")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}
