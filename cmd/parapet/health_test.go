package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/auth"
)

// The health command of a container follows the roles of its process.
func TestHealthSaysWhetherAServerIsReady(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	certificate, key := filepath.Join(folder, "chain.pem"), filepath.Join(folder, "key.pem")
	writeCertificate(t, certificate, key, 1)
	c := newProcessGroup(t, "PARAPET_TLS_CERTIFICATE="+certificate, "PARAPET_TLS_KEY="+key)
	server := c.startProcess(t, "parapet")
	c.environment = append(c.environment, "PARAPET_LISTEN=0.0.0.0"+server.base[strings.LastIndex(server.base, ":"):])
	said, err := c.runCommand(t, "health")
	require.NoError(t, err, said)
	require.Equal(t, "the server is ready\n", said)
	server.killNow()
	_, err = c.runCommand(t, "health")
	require.ErrorContains(t, err, "exit status 5")

	c.environment = append(c.environment, "PARAPET_ROLES=workers")
	said, err = c.runCommand(t, "health")
	require.Error(t, err)
	require.Contains(t, said, "PARAPET_METRICS_LISTEN is missing")
	metrics, body := newMetricsServer(t)
	c.environment = append(c.environment, "PARAPET_METRICS_LISTEN="+metrics)
	*body = "# HELP\nparapet_db_stats_up 1\n"
	said, err = c.runCommand(t, "health")
	require.NoError(t, err, said)
	*body = "# HELP\nparapet_db_stats_up 0\n"
	said, err = c.runCommand(t, "health")
	require.Error(t, err)
	require.Contains(t, said, "the database does not answer")
}

// newMetricsServer serves a text at /metrics and returns its address.
func newMetricsServer(t *testing.T) (address string, body *string) {
	t.Helper()
	body = new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, *body)
		}
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), body
}

func TestLocalAddressReachesAListener(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{":8080": "127.0.0.1:8080", "0.0.0.0:1": "127.0.0.1:1", "[::]:2": "[::1]:2", "10.0.0.7:3": "10.0.0.7:3", "wrong": "wrong"} {
		require.Equal(t, want, localAddress(listen))
	}
}

// A server whose issuer cannot be reached says so when it starts.
func TestServeWarnsOfAnIssuerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	_, fine := newIssuer(t)
	for issuer, warns := range map[string]bool{gone: true, fine: false} {
		verifier, err := auth.New(auth.Config{Issuers: []string{issuer}, Audience: "parapet", Algorithms: []string{"EdDSA", "ES256"}, PartnerClaim: "partner", Now: time.Now})
		require.NoError(t, err)
		var log bytes.Buffer
		a := &app{log: slog.New(slog.NewTextHandler(&log, nil)), checkIssuers: verifier.Ready}
		a.warnOfIssuers(t.Context())
		require.Equal(t, warns, strings.Contains(log.String(), "an issuer cannot be used"), log.String())
		require.Equal(t, warns, strings.Contains(log.String(), gone), log.String())
	}
	ended, end := context.WithCancel(t.Context())
	end()
	var log bytes.Buffer
	a := &app{log: slog.New(slog.NewTextHandler(&log, nil)), checkIssuers: func(ctx context.Context) error { return ctx.Err() }}
	a.warnOfIssuers(ended)
	require.Empty(t, log.String(), "a server that ends warns of nothing")
}

func TestLargeAnswersAreCompressed(t *testing.T) {
	t.Parallel()
	large := `{"text": "` + strings.Repeat("a long text ", minCompressedSize/12+1) + `"}`
	handler, err := compressResponses(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"tag"`)
		w.Header().Set("Content-Type", r.URL.Query().Get("type"))
		if r.Header.Get("If-None-Match") == `"tag"` || r.Header.Get("If-Match") == `"tag", "other"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, large[:min(len(large), int(r.ContentLength))])
	}))
	require.NoError(t, err)
	call := func(kind string, size int64, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?type="+url.QueryEscape(kind), http.NoBody)
		r.ContentLength = size
		r.Header.Set("Accept-Encoding", "br;q=0, gzip")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	for _, kind := range []string{"application/json", "application/problem+json", "application/graphql-response+json; charset=utf-8", "text/csv"} {
		w := call(kind, int64(len(large)))
		require.Equal(t, []string{"gzip", `"tag-gzip"`, "Accept-Encoding"}, []string{w.Header().Get("Content-Encoding"), w.Header().Get("ETag"), w.Header().Get("Vary")}, kind)
		unpacked, err := gzip.NewReader(w.Body)
		require.NoError(t, err)
		text, err := io.ReadAll(unpacked)
		require.NoError(t, err)
		require.Equal(t, large, string(text))
	}
	for why, w := range map[string]*httptest.ResponseRecorder{
		"a page":               call("text/html; charset=utf-8", int64(len(large))),
		"a stream":             call("text/event-stream", int64(len(large)), "Accept", "text/event-stream"),
		"any answer to stream": call("application/json", int64(len(large)), "Accept", "text/event-stream"),
		"a socket":             call("application/json", int64(len(large)), "Upgrade", "websocket"),
		"no gzip":              call("application/json", int64(len(large)), "Accept-Encoding", "gzip;q=0"),
		"a small answer":       call("application/json", minCompressedSize-1),
	} {
		require.Empty(t, w.Header().Get("Content-Encoding"), why)
		require.Equal(t, `"tag"`, w.Header().Get("ETag"), why)
	}
	for _, header := range [][]string{{"If-None-Match", `"tag-gzip"`}, {"If-Match", `"tag-gzip", "other"`}} {
		w := call("application/json", 1, header...)
		require.Equal(t, http.StatusNotModified, w.Code, "the tag of the compressed answer is that of the record")
		require.Equal(t, `"tag-gzip"`, w.Header().Get("ETag"))
	}
	w := call("application/json", 1, "If-None-Match", `"tag"`)
	require.Equal(t, `"tag"`, w.Header().Get("ETag"))
}
