package rest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/dbconn"
	"parapet/model/kernel/dbpool"
	"parapet/model/modeltest"
	"parapet/rest"
)

// tcpProxy is a proxy to the database whose connections can be closed, or stop passing
// data.
type tcpProxy struct {
	net.Listener
	sync.Mutex

	network, target string
	conns           []net.Conn
	silent          chan struct{} // once closed, no data passes
}

// newTCPProxy starts a proxy to the database at an address; over is the proxy's own
// address.
func newTCPProxy(t *testing.T, address string) (l *tcpProxy, over string) {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	at, err := url.Parse(address)
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l = &tcpProxy{Listener: listener, silent: make(chan struct{})}
	l.network, l.target = pgconn.NetworkAddress(config.Host, config.Port)
	t.Cleanup(l.closeAll)
	go l.acceptConnections(context.WithoutCancel(t.Context()))
	query := at.Query()
	query.Del("host")
	query.Del("port")
	at.RawQuery, at.Host = query.Encode(), listener.Addr().String()
	return l, at.String()
}

func (l *tcpProxy) acceptConnections(ctx context.Context) {
	for {
		here, err := l.Accept()
		if err != nil {
			return
		}
		there, err := new(net.Dialer).DialContext(ctx, l.network, l.target)
		if err != nil {
			_ = here.Close()
			continue
		}
		l.Lock()
		l.conns = append(l.conns, here, there)
		l.Unlock()
		go l.copyBytes(here, there)
		go l.copyBytes(there, here)
	}
}

func (l *tcpProxy) copyBytes(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-l.silent:
			return
		default:
		}
		if err != nil {
			_ = to.Close()
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (l *tcpProxy) closeAll() {
	_ = l.Close()
	l.Lock()
	defer l.Unlock()
	for _, conn := range l.conns {
		_ = conn.Close()
	}
}

// newHandlerOverProxy returns a handler whose database is reached through a proxy.
func newHandlerOverProxy(t *testing.T) (handler http.Handler, l *tcpProxy, closing func()) {
	t.Helper()
	_, address := modeltest.Database(t, 1)
	l, over := newTCPProxy(t, address)
	db, err := dbpool.Open(t.Context(), over, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	service, err := model.New(model.Config{DB: db, Queue: modeltest.Queue{}, Keys: testKeys(), Development: true})
	require.NoError(t, err)
	monitor, err := dbconn.NewMonitor(t.Context(), over)
	require.NoError(t, err)
	t.Cleanup(monitor.Close)
	t.Cleanup(l.closeAll) // before the pool closes, which would wait for its connections
	handler = newHandler(t, func(c *rest.Config) { c.Service, c.PingDatabase = service, monitor.Alive })
	return handler, l, func() { db.Close(); monitor.Close() }
}

// Every endpoint answers 503 with Retry-After within two seconds, for every way of losing
// the database.
func TestLostDatabase(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(l *tcpProxy, closing func()){
		"cut":    func(l *tcpProxy, _ func()) { l.closeAll() },
		"silent": func(l *tcpProxy, _ func()) { close(l.silent) },
		"closed": func(_ *tcpProxy, closing func()) { closing() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler, l, closing := newHandlerOverProxy(t)
			require.Equal(t, 200, request{"GET", "/v1/quotes", "", nil}.sendTo(t, handler).StatusCode)
			lose(l, closing)
			var all sync.WaitGroup
			for operation := range contractScopes {
				method, path, _ := strings.Cut(operation, " ")
				if path == "/observations" {
					continue // partners do not post them
				}
				all.Go(func() {
					began := time.Now()
					answer := request{method, "/v1" + fillPath(path), requestBody(path), nil}.sendTo(t, handler)
					took := time.Since(began)
					if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || took > 2*time.Second {
						t.Errorf("%s: %d after %v: %s", operation, answer.StatusCode, took, answer.Body[:min(300, len(answer.Body))])
					}
				})
			}
			all.Wait()
		})
	}
}

// fillPath replaces the parameters of a path by valid ids.
func fillPath(path string) string {
	for name, id := range map[string]string{
		"quote_id": "quo", "policy_id": "pol", "claim_id": "clm", "attachment_id": "att", "payout_id": "pay", "payout_method_id": "pmt", "occurrence_id": "occ", "observation_id": "obs",
		"event_id": "evt", "endpoint_id": "whe", "delivery_id": "dlv", "run_id": "run",
	} {
		path = strings.ReplaceAll(path, "{"+name+"}", id+"_01h455vb4pex5vsknk084sn02q")
	}
	return strings.ReplaceAll(path, "{key}", "quake-circle")
}

// requestBody returns a valid body for a path; reads ignore it.
func requestBody(path string) string {
	_, last, _ := strings.Cut(strings.TrimPrefix(path, "/claims/{claim_id}"), "/")
	if last == "webhook_endpoints/{endpoint_id}" {
		return `{"ordered":true}`
	}
	return map[string]string{
		"quotes": quoteBody, "policies": `{"quote_id":"quo_01h455vb4pex5vsknk084sn02q"}`, "claims": `{"policy_id":"pol_01h455vb4pex5vsknk084sn02q"}`,
		"attachments": `{"file_name":"a.txt","content_type":"text/plain","content_base64":"aGVsbG8="}`, "messages": `{"body":"hello"}`, "challenge": `{"reason":"The station was moved."}`,
		"explain":           `{"policy_id":"pol_01h455vb4pex5vsknk084sn02q","source_event":{"source":"usgs","id":"x"}}`,
		"webhook_endpoints": `{"url":"https://hooks.example.com"}`,
		"sandbox/clock":     `{"by":"P1D"}`, "sandbox/replays": `{"event":"us1000chhc"}`,
		"sandbox/observations": `{"source":"usgs","source_event_id":"x","kind":"earthquake","occurred_at":"2026-01-02T03:04:05Z","stage":"final","location":{"latitude":24,"longitude":121},"measures":{"magnitude":{"value":"6.4","unit":"mw"}}}`,
		"payout_methods":       `{"claim_id":"clm_01h455vb4pex5vsknk084sn02q",` + ibanMembers,
	}[last]
}

// The server does not wait for a client that sends single bytes.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	past := time.Unix(0, 0)
	server := httptest.NewServer(newHandler(t, func(c *rest.Config) { c.Now = func() time.Time { return past } }))
	t.Cleanup(server.Close)
	reader, writer := io.Pipe()
	t.Cleanup(func() { _ = writer.Close() })
	in, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/quotes", reader)
	require.NoError(t, err)
	in.Header.Set("Authorization", "Bearer partner")
	in.Header.Set("Content-Type", "application/json")
	response, err := server.Client().Do(in)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), "did not arrive within 20s")
}

// A request that waits for a connection of a busy pool is not cancelled while the
// database answers, however often the database was pinged.
func TestBusyDatabaseDoesNotReturn503(t *testing.T) {
	t.Parallel()
	_, address := modeltest.Database(t, 1)
	db, err := dbpool.Open(t.Context(), address, 1)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	service, err := model.New(model.Config{DB: db, Queue: modeltest.Queue{}, Keys: testKeys()})
	require.NoError(t, err)
	monitor, err := dbconn.NewMonitor(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(monitor.Close)
	asked := make(chan struct{}, 1000)
	handler := newHandler(t, func(c *rest.Config) {
		c.Service, c.PingDatabase = service, func(ctx context.Context) error {
			asked <- struct{}{}
			return monitor.Alive(ctx)
		}
	})
	require.Equal(t, 200, request{"GET", "/v1/quotes", "", nil}.sendTo(t, handler).StatusCode)
	taken, err := db.Pool.Acquire(t.Context())
	require.NoError(t, err)
	answers := make(chan *reply, 20)
	for range cap(answers) {
		go func() { answers <- request{"GET", "/v1/quotes", "", nil}.sendTo(t, handler) }() //nolint:testifylint // it fails the test when it cannot be built
	}
	for range 4 {
		<-asked
	}
	taken.Release()
	for range cap(answers) {
		require.Equal(t, 200, (<-answers).StatusCode)
	}
}

var uploadCount = flag.Int("uploads", 100, "how many files TestManyUploadsDoNotReturn503 sends at once")

// Uploads that use the whole processor and pool are answered, and not with 503.
func TestManyUploadsDoNotReturn503(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	monitor, err := dbconn.NewMonitor(t.Context(), h.URL)
	require.NoError(t, err)
	t.Cleanup(monitor.Close)
	handler := newHandler(t, func(c *rest.Config) { c.Service, c.PingDatabase = h.Service, monitor.Alive })
	_, _, first := h.createClaim(t)
	claims := []string{first.ID}
	for len(claims)*50 < *uploadCount { // the largest number of attachments of a claim
		_, _, next := h.createClaim(t)
		claims = append(claims, next.ID)
	}
	file := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("all the rain that fell "), 1<<16))
	answers := make(chan *reply, *uploadCount)
	for i := range *uploadCount {
		upload := request{"POST", "/v1/claims/" + claims[i%len(claims)] + "/attachments", `{"file_name":"a.txt","content_type":"text/plain","content_base64":"` + file + `"}`, nil}
		go func() { answers <- upload.sendTo(t, handler) }() //nolint:testifylint // it fails the test when it cannot be built
	}
	statuses := map[int]int{}
	for range *uploadCount {
		statuses[(<-answers).StatusCode]++
	}
	require.Zero(t, statuses[http.StatusServiceUnavailable], statuses)
	require.Positive(t, statuses[http.StatusCreated])
}

// A request that waits for an event does not need the database meanwhile: a late answer of
// a busy one must not end thousands of waiting requests. Once it needs it, it is 503.
func TestWaitingRequestOutlastsALateDatabase(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	var lost atomic.Bool
	pings := make(chan struct{})
	handler := newHandler(t, func(c *rest.Config) {
		c.Service, c.PingDatabase = h.Service, func(context.Context) error {
			select {
			case pings <- struct{}{}:
			case <-time.After(time.Millisecond):
			}
			if lost.Load() {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
	})
	answers := make(chan *reply, 1)
	go func() { answers <- request{"GET", "/v1/events?wait=30", "", nil}.sendTo(t, handler) }() //nolint:testifylint // it fails the test when it cannot be built
	await := func() {
		select {
		case <-pings:
		case answer := <-answers:
			t.Fatalf("it has not waited: %d", answer.StatusCode)
		}
	}
	await() // it is watched
	lost.Store(true)
	for range 5 {
		await()
	}
	lost.Store(false)
	h.Quote("rain-excess", nil)
	h.Relay()
	require.Equal(t, http.StatusOK, (<-answers).StatusCode)
}
