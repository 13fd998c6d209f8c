package rest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/apperr"
	"parapet/rest"
)

// A client that sends its whole body before it reads the response, as most do, reads 413
// and not a broken connection.
func TestBodyTooLargeIsAnsweredOverARealConnection(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHandler(t, func(c *rest.Config) { c.Now = time.Now }))
	t.Cleanup(server.Close)
	body := bytes.Repeat([]byte(" "), 20<<20)
	for name, c := range map[string]struct{ path, framing string }{
		"announced":            {"/v1/quotes", fmt.Sprintf("Content-Length: %d", len(body))},
		"streamed":             {"/v1/quotes", "Transfer-Encoding: chunked"},
		"announced attachment": {"/v1/claims/x/attachments", fmt.Sprintf("Content-Length: %d", len(body))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dialer net.Dialer
			conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			requests := 2 // the connection can be used for the next request
			if strings.HasPrefix(c.framing, "Transfer") {
				requests = 1 // a chunked request is the last one of its connection
			}
			for range requests {
				_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer partner\r\nContent-Type: application/json\r\n%s\r\n\r\n", c.path, c.framing)
				require.NoError(t, err)
				if strings.HasPrefix(c.framing, "Transfer") {
					_, err = fmt.Fprintf(conn, "%x\r\n%s\r\n0\r\n\r\n", len(body), body)
				} else {
					_, err = conn.Write(body)
				}
				require.NoError(t, err)
				requireBodyTooLarge(t, bufio.NewReader(conn))
			}
		})
	}
	t.Run("client", func(t *testing.T) {
		t.Parallel()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/quotes", io.MultiReader(bytes.NewReader(body)))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer partner")
		request.Header.Set("Content-Type", "application/json")
		response, err := server.Client().Do(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
	})
	t.Run("asking first", func(t *testing.T) {
		t.Parallel()
		var dialer net.Dialer
		conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, err = fmt.Fprintf(conn, "POST /v1/quotes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer partner\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
		require.NoError(t, err)
		requireBodyTooLarge(t, bufio.NewReader(conn))
	})
}

// requireBodyTooLarge reads the whole response.
func requireBodyTooLarge(t *testing.T, from *bufio.Reader) {
	t.Helper()
	response, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	p := requireProblem(t, &reply{response.StatusCode, response.Header, answer})
	require.Equal(t, string(apperr.CodeBodyTooLarge), p.Code)
}
