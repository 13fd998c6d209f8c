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
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/dbconn"
	"parapet/model/modeltest"
	"parapet/rest"
)

// line is a way to the database that can be cut, or go silent.
type line struct {
	net.Listener
	sync.Mutex

	network, to string
	conns       []net.Conn
	silent      chan struct{} // closed: nothing passes any more
}

// newLine leads to the database at an address; it has an address of its own.
func newLine(t *testing.T, address string) (l *line, over string) {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	at, err := url.Parse(address)
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l = &line{Listener: listener, silent: make(chan struct{})}
	l.network, l.to = pgconn.NetworkAddress(config.Host, config.Port)
	t.Cleanup(l.cut)
	go l.serve(context.WithoutCancel(t.Context()))
	query := at.Query()
	query.Del("host")
	query.Del("port")
	at.RawQuery, at.Host = query.Encode(), listener.Addr().String()
	return l, at.String()
}

func (l *line) serve(ctx context.Context) {
	for {
		here, err := l.Accept()
		if err != nil {
			return
		}
		there, err := new(net.Dialer).DialContext(ctx, l.network, l.to)
		if err != nil {
			_ = here.Close()
			continue
		}
		l.Lock()
		l.conns = append(l.conns, here, there)
		l.Unlock()
		go l.pass(here, there)
		go l.pass(there, here)
	}
}

func (l *line) pass(from, to net.Conn) {
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

func (l *line) cut() {
	_ = l.Close()
	l.Lock()
	defer l.Unlock()
	for _, conn := range l.conns {
		_ = conn.Close()
	}
}

// overLine is a door whose database is reached over a line.
func overLine(t *testing.T) (door http.Handler, l *line, closing func()) {
	t.Helper()
	_, address := modeltest.Database(t, 1)
	l, over := newLine(t, address)
	db, err := model.Open(t.Context(), over, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	service, err := model.New(model.Config{DB: db, Queue: modeltest.Queue{}, Keys: testKeys()})
	require.NoError(t, err)
	monitor, err := dbconn.NewMonitor(t.Context(), over)
	require.NoError(t, err)
	t.Cleanup(monitor.Close)
	t.Cleanup(l.cut) // before the pool closes: it would wait for the silence
	door = open(t, func(c *rest.Config) { c.Service, c.Alive = service, monitor.Alive })
	return door, l, func() { db.Close(); monitor.Close() }
}

// Every endpoint says 503 within two seconds, and when to come back, however the
// database was lost.
func TestLostDatabase(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(l *line, closing func()){
		"cut":    func(l *line, _ func()) { l.cut() },
		"silent": func(l *line, _ func()) { close(l.silent) },
		"closed": func(_ *line, closing func()) { closing() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			door, l, closing := overLine(t)
			require.Equal(t, 200, request{"GET", "/v1/quotes", "", nil}.to(t, door).StatusCode)
			lose(l, closing)
			var all sync.WaitGroup
			for operation := range contract {
				method, path, _ := strings.Cut(operation, " ")
				if strings.HasSuffix(path, "/observations") {
					continue // partners do not post them
				}
				all.Go(func() {
					began := time.Now()
					answer := request{method, "/v1" + filled(path), body(path), nil}.to(t, door)
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

// filled is a path with ids that could be.
func filled(path string) string {
	for name, id := range map[string]string{
		"quote_id": "quo", "policy_id": "pol", "claim_id": "clm", "attachment_id": "att", "payout_id": "pay", "payout_method_id": "pmt", "occurrence_id": "occ",
		"event_id": "evt", "endpoint_id": "whe", "delivery_id": "dlv",
	} {
		path = strings.ReplaceAll(path, "{"+name+"}", id+"_01h455vb4pex5vsknk084sn02q")
	}
	return strings.ReplaceAll(path, "{key}", "quake-circle")
}

// body is a good request for a path; reads ignore it.
func body(path string) string {
	_, last, _ := strings.Cut(strings.TrimPrefix(path, "/claims/{claim_id}"), "/")
	if last == "webhook_endpoints/{endpoint_id}" {
		return `{"ordered":true}`
	}
	return map[string]string{
		"quotes": hualien, "policies": `{"quote_id":"quo_01h455vb4pex5vsknk084sn02q"}`, "claims": `{"policy_id":"pol_01h455vb4pex5vsknk084sn02q"}`,
		"attachments": `{"file_name":"a.txt","content_type":"text/plain","content_base64":"aGVsbG8="}`, "messages": `{"body":"hello"}`,
		"explain":           `{"policy_id":"pol_01h455vb4pex5vsknk084sn02q","source_event":{"source":"usgs","id":"x"}}`,
		"webhook_endpoints": `{"url":"https://hooks.example.com"}`,
		"payout_methods":    `{"claim_id":"clm_01h455vb4pex5vsknk084sn02q",` + iban,
	}[last]
}

// A caller who sends a byte now and then is not waited for.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	past := time.Unix(0, 0)
	server := httptest.NewServer(open(t, func(c *rest.Config) { c.Now = func() time.Time { return past } }))
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

// A request that waits for a busy pool is not cut off while the database answers, however
// often that was asked.
func TestABusyDatabaseIsNotALostOne(t *testing.T) {
	t.Parallel()
	_, address := modeltest.Database(t, 1)
	db, err := model.Open(t.Context(), address, 1)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	service, err := model.New(model.Config{DB: db, Queue: modeltest.Queue{}, Keys: testKeys()})
	require.NoError(t, err)
	monitor, err := dbconn.NewMonitor(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(monitor.Close)
	asked := make(chan struct{}, 1000)
	door := open(t, func(c *rest.Config) {
		c.Service, c.Alive = service, func(ctx context.Context) error {
			asked <- struct{}{}
			return monitor.Alive(ctx)
		}
	})
	require.Equal(t, 200, request{"GET", "/v1/quotes", "", nil}.to(t, door).StatusCode)
	taken, err := db.Pool.Acquire(t.Context())
	require.NoError(t, err)
	answers := make(chan *reply, 20)
	for range cap(answers) {
		go func() { answers <- request{"GET", "/v1/quotes", "", nil}.to(t, door) }() //nolint:testifylint // it fails the test when it cannot be built
	}
	for range 4 * cap(answers) {
		<-asked
	}
	taken.Release()
	for range cap(answers) {
		require.Equal(t, 200, (<-answers).StatusCode)
	}
}

var uploads = flag.Int("uploads", 100, "how many files TestManyUploadsAreNoLostDatabase sends at once")

// Uploads that take all there is of processor and pool are answered, and not with 503.
func TestManyUploadsAreNoLostDatabase(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	monitor, err := dbconn.NewMonitor(t.Context(), h.URL)
	require.NoError(t, err)
	t.Cleanup(monitor.Close)
	door := open(t, func(c *rest.Config) { c.Service, c.Alive = h.Service, monitor.Alive })
	_, _, first := h.claim(t)
	claims := []string{first.ID}
	for len(claims)*50 < *uploads { // as many as a claim takes
		_, _, next := h.claim(t)
		claims = append(claims, next.ID)
	}
	file := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("all the rain that fell "), 1<<16))
	answers := make(chan *reply, *uploads)
	for i := range *uploads {
		upload := request{"POST", "/v1/claims/" + claims[i%len(claims)] + "/attachments", `{"file_name":"a.txt","content_type":"text/plain","content_base64":"` + file + `"}`, nil}
		go func() { answers <- upload.to(t, door) }() //nolint:testifylint // it fails the test when it cannot be built
	}
	statuses := map[int]int{}
	for range *uploads {
		statuses[(<-answers).StatusCode]++
	}
	require.Zero(t, statuses[http.StatusServiceUnavailable], statuses)
	require.Positive(t, statuses[http.StatusCreated])
}
