package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/model/kernel/actor"
	"parapet/model/modeltest"
	"parapet/rest"
)

// testFrontend is the API on a real connection, with its counters and its log.
type testFrontend struct {
	*modeltest.Bundle

	server         *httptest.Server
	graphql        *graph.Handler
	panicRequested chan struct{} // a request waits here until its caller has left, and then panics

	mu       sync.Mutex
	statuses []int
	lines    []string // lines of the log, warnings and errors
}

// Enabled implements slog.Handler.
func (f *testFrontend) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (f *testFrontend) Handle(_ context.Context, record slog.Record) error {
	if record.Level >= slog.LevelWarn {
		var attributes strings.Builder
		record.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&attributes, " %s", a); return true })
		f.addComplaint(record.Message + attributes.String())
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (f *testFrontend) WithAttrs([]slog.Attr) slog.Handler { return f }

// WithGroup implements slog.Handler.
func (f *testFrontend) WithGroup(string) slog.Handler { return f }

// Write takes a line of net/http's own log.
func (f *testFrontend) Write(line []byte) (int, error) {
	f.addComplaint(string(line))
	return len(line), nil
}

func (f *testFrontend) addComplaint(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, line)
}

func (f *testFrontend) countedStatuses() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.statuses)
}

// goroutineLabel marks the goroutines that requests started.
const goroutineLabel = "caller-left-test"

func newTestFrontend(t *testing.T, with ...modeltest.Option) *testFrontend {
	t.Helper()
	f := &testFrontend{Bundle: modeltest.New(t, with...), panicRequested: make(chan struct{})}
	var err error
	f.graphql, err = graph.New(graph.Config{Service: f.Service})
	require.NoError(t, err)
	handler, err := rest.New(rest.Config{
		Service: f.Service, Now: time.Now, Limiter: rest.Unlimited{}, Log: slog.New(f), SharedHandlers: map[string]http.Handler{"/graphql": f.graphql},
		Authenticate: func(ctx context.Context, token string) (actor.Actor, error) {
			if token == "broken" {
				f.panicRequested <- struct{}{}
				<-ctx.Done()
				panic("a fault of ours")
			}
			return f.Acme, nil
		},
		ObserveRequest: func(_, _ string, status int, _ time.Duration) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.statuses = append(f.statuses, status)
		},
	})
	require.NoError(t, err)
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pprof.Do(r.Context(), pprof.Labels(goroutineLabel, t.Name()), func(context.Context) { handler.ServeHTTP(w, r) })
	}))
	f.server.Config.ErrorLog = slog.NewLogLogger(f, slog.LevelError)
	f.server.Start()
	t.Cleanup(f.server.Close)
	return f
}

// dialAndSend opens a connection and sends the first bytes of a request.
func (f *testFrontend) dialAndSend(t *testing.T, sent string) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", f.server.Listener.Addr().String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, sent)
	require.NoError(t, err)
	return conn.(*net.TCPConn)
}

// waitUntilIdle waits until no goroutine of a request runs.
func (f *testFrontend) waitUntilIdle(t *testing.T) {
	t.Helper()
	f.server.Close()
	f.graphql.Close()
	require.Eventually(t, func() bool {
		var running strings.Builder
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&running, 1))
		return !strings.Contains(running.String(), fmt.Sprintf("%q:%q", goroutineLabel, t.Name()))
	}, time.Minute, 10*time.Millisecond, "a goroutine of a request is left")
}

func sentRequest(method, path, body string, headers ...string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: parapet\r\nAuthorization: Bearer good\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		method, path, len(body), strings.Join(append(headers, ""), "\r\n"), body)
}

// maskedFrames are frames as a WebSocket client sends them, under a mask of zeros.
func maskedFrames(messages ...string) string {
	var frames strings.Builder
	for _, text := range messages {
		frames.WriteByte(0x81)
		if len(text) < 126 {
			frames.WriteByte(0x80 | byte(len(text)))
		} else {
			frames.Write([]byte{0x80 | 126, byte(len(text) >> 8), byte(len(text))})
		}
		frames.WriteString("\x00\x00\x00\x00" + text)
	}
	return frames.String()
}

// rawRequests are requests of every transport, by name.
func rawRequests() map[string]string {
	const introspection = `{"query":"{ __schema { types { name kind description fields { name description args { name } } } } }"}`
	const follow = `{"query":"subscription { events { sequence } }"}`
	upgrade := sentRequest("GET", "/graphql", "", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: graphql-transport-ws")
	return map[string]string{
		"POST /quotes":      sentRequest("POST", "/v1/quotes", `{"product": "quake-circle", "context": {"partner": "acme"}}`),
		"GET /quotes":       sentRequest("GET", "/v1/quotes", ""),
		"GET /events, wait": sentRequest("GET", "/v1/events?wait=30&after_sequence=1000", ""),
		"introspection":     sentRequest("POST", "/graphql", introspection),
		"query": sentRequest("POST", "/graphql",
			`{"query":"{ quotes(first: 100) { totalCount nodes { price { premium { amount } lines { kind } } history { occurredAt } } } portfolio { book { lines { currency } } } }"}`),
		"mutation":     sentRequest("POST", "/graphql", `{"query":"mutation { createQuote(input: {product: \"quake-circle\", context: {partner: \"acme\"}}) { quote { id } } }"}`),
		"subscription": sentRequest("POST", "/graphql", follow, "Accept: text/event-stream"),
		"WebSocket":    upgrade,
		"WebSocket, subscription": upgrade + maskedFrames(`{"type":"connection_init"}`, `{"id":"1","type":"subscribe","payload":`+follow+`}`,
			`{"id":"2","type":"subscribe","payload":`+introspection+`}`),
	}
}

// serverErrors are the statuses that count as faults of the server.
func serverErrors(statuses []int) []int {
	return slices.DeleteFunc(statuses, func(status int) bool { return status < 500 })
}

// A request whose caller leaves during a query has status 499, and the query is
// cancelled.
func TestQueriesStopWhenTheCallerLeaves(t *testing.T) {
	t.Parallel()
	f := newTestFrontend(t)
	locked, err := f.DB.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), "lock table quotes in access exclusive mode")
	require.NoError(t, err)
	waiting := func() (n int) {
		row := locked.QueryRow(t.Context(), "select count(*) from pg_locks where not granted and relation = 'quotes'::regclass")
		require.NoError(t, row.Scan(&n))
		return n
	}
	var conns []net.Conn
	for _, name := range []string{"POST /quotes", "GET /quotes", "query", "mutation"} {
		conns = append(conns, f.dialAndSend(t, rawRequests()[name]))
	}
	require.Eventually(t, func() bool { return waiting() == len(conns) }, time.Minute, 5*time.Millisecond)
	for _, conn := range conns {
		require.NoError(t, conn.Close())
	}
	half := rawRequests()["POST /quotes"]
	require.NoError(t, f.dialAndSend(t, half[:len(half)-10]).Close())
	require.Eventually(t, func() bool { return len(f.countedStatuses()) == len(conns)+1 && waiting() == 0 }, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, locked.Rollback(t.Context()))
	f.waitUntilIdle(t)
	require.Equal(t, slices.Repeat([]int{499}, len(conns)+1), f.countedStatuses())
	require.Empty(t, f.lines)
}

// A request that fails for another reason is answered and counted as usual.
func TestFailuresOfCallersWhoStayAreCounted(t *testing.T) {
	t.Parallel()
	f := newTestFrontend(t, modeltest.WithoutChecks())
	f.DB.Close()
	conn := f.dialAndSend(t, sentRequest("GET", "/v1/quotes", "", "Connection: close"))
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "500 Internal Server Error")
	f.waitUntilIdle(t)
	require.Equal(t, []int{500}, f.countedStatuses())
	require.Len(t, f.lines, 1)
}

// A panic is the server's fault even when the caller has left.
func TestPanicsAreCountedAlsoWhenTheCallerLeft(t *testing.T) {
	t.Parallel()
	f := newTestFrontend(t)
	conn := f.dialAndSend(t, strings.Replace(rawRequests()["GET /quotes"], "Bearer good", "Bearer broken", 1))
	<-f.panicRequested
	require.NoError(t, conn.Close())
	f.waitUntilIdle(t)
	require.Equal(t, []int{503}, f.countedStatuses())
	require.Len(t, f.lines, 1)
	require.Contains(t, f.lines[0], "a fault of ours")
}

// A connection that is closed at any byte of the request or of the response leaves no
// failure, no line in the log and no goroutine.
func TestDisconnectsAtAnyByteLeakNothing(t *testing.T) {
	t.Parallel()
	f := newTestFrontend(t)
	f.QuoteAndBind("quake-circle", nil)
	random := rand.New(rand.NewPCG(12, 3))
	var callers sync.WaitGroup
	for range 40 {
		for _, text := range rawRequests() {
			sent, read := len(text), random.IntN(4096)
			if random.IntN(3) == 0 {
				sent = random.IntN(len(text))
			}
			reset := random.IntN(2) == 0
			if random.IntN(2) == 0 {
				read = 0
			}
			conn := f.dialAndSend(t, text[:sent])
			callers.Go(func() {
				defer conn.Close()
				_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // a request that waits for events sends no response
				_, _ = io.CopyN(io.Discard, conn, int64(read))
				if reset {
					_ = conn.SetLinger(0)
				}
			})
		}
	}
	callers.Wait()
	f.waitUntilIdle(t)
	require.Contains(t, f.countedStatuses(), 499)
	require.Empty(t, serverErrors(f.countedStatuses()))
	require.Empty(t, f.lines)
}
