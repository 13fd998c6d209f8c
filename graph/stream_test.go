package graph_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/model"
)

// served is the door on a server of its own, with a clock that the test moves.
type served struct {
	*door

	address string
	closer  *graph.Door
	passed  atomic.Int64
}

func serve(t *testing.T, streams graph.Streams) *served {
	t.Helper()
	return serveOn(t, open(t), graph.Config{Streams: streams})
}

// serveOn is serve with another database or another configuration.
func serveOn(t *testing.T, d *door, config graph.Config) *served {
	t.Helper()
	s := &served{door: d}
	began := time.Now()
	config.Streams.Now = func() time.Time { return began.Add(time.Duration(s.passed.Load())) }
	s.Acme.Until = began.Add(time.Hour)
	if config.Service == nil {
		config.Service = s.Service
	}
	closer, err := graph.New(config)
	require.NoError(t, err)
	s.handler, s.closer = closer, closer
	server := httptest.NewUnstartedServer(s)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 5*time.Second, 5*time.Second
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(closer.Close)
	s.address = server.URL
	return s
}

// pipes is a listener whose connections hold nothing back: what is not read is not
// written.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error { close(p); return nil }

func (pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// overPipes serves what comes over pipes too.
func (s *served) overPipes(t *testing.T) pipes {
	t.Helper()
	p := make(pipes)
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(p) }()
	t.Cleanup(func() { _ = server.Close() })
	return p
}

func (p pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close() })
	p <- far
	return near
}

// slowly opens a subscription over a pipe.
func (p pipes) slowly(t *testing.T) *bufio.Reader {
	t.Helper()
	near := p.dial(t)
	const body = `{"query":"subscription { events { data } }"}`
	_, err := fmt.Fprintf(near, "POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: acme\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	return bufio.NewReaderSize(near, 16)
}

func TestWhoReadsTooSlowlyIsDropped(t *testing.T) {
	t.Parallel()
	s := serve(t, graph.Streams{Patience: time.Minute, Heartbeat: time.Hour})
	s.Cover("quake-circle", nil)
	s.relay(t)
	slow := s.overPipes(t).slowly(t)
	for line := ""; line != "next\ndata: "; { // the first event is half read
		var err error
		line, err = slow.ReadString(' ')
		require.NoError(t, err)
	}
	healthy := s.listen(t, "acme", `subscription { events { sequence } }`)
	for sequence := range int64(3) {
		event, _ := healthy.next()
		require.Equal(t, sequence+1, event.sequence(t), "others are not kept waiting")
	}
	s.passed.Store(int64(2 * time.Minute))
	for line := ""; !strings.Contains(line, "read_too_slowly"); {
		var err error
		line, err = slow.ReadString('\n')
		require.NoError(t, err)
	}
}

// listener reads server-sent events.
type listener struct {
	*bufio.Scanner

	t *testing.T
}

func (s *served) listen(t *testing.T, as, document string) *listener {
	t.Helper()
	return s.listenUntil(t.Context(), t, as, document)
}

func (s *served) listenUntil(ctx context.Context, t *testing.T, as, document string) *listener {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": document})
	require.NoError(t, err)
	return s.stream(ctx, t, as, string(body))
}

// stream sends a request as it is written.
func (s *served) stream(ctx context.Context, t *testing.T, as, body string) *listener {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address+"/graphql", strings.NewReader(body))
	require.NoError(t, err)
	request.Header = http.Header{"Authorization": {as}, "Content-Type": {jsonType}, "Accept": {"text/event-stream"}}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, "text/event-stream; charset=utf-8", response.Header.Get("Content-Type"))
	return &listener{bufio.NewScanner(response.Body), t}
}

// next is the next event; complete when nothing follows.
func (l *listener) next() (out answer, complete bool) {
	l.t.Helper()
	for l.Scan() {
		if data, found := strings.CutPrefix(l.Text(), "data: "); found {
			require.NoError(l.t, json.Unmarshal([]byte(data), &out, json.MatchCaseInsensitiveNames(true)), data)
			return out, false
		}
		if l.Text() == "event: complete" {
			return out, true
		}
	}
	require.Fail(l.t, "the stream broke off", "%v", l.Err())
	return out, true
}

// sequence is that of the one field.
func (a answer) sequence(t *testing.T) (n int64) {
	t.Helper()
	require.Empty(t, a.Errors)
	var fields map[string]struct{ Sequence int64 }
	require.NoError(t, json.Unmarshal(a.Data, &fields, json.MatchCaseInsensitiveNames(true)))
	for _, field := range fields {
		n = field.Sequence
	}
	return n
}

func TestASubscriptionGoesOnWhereItBrokeOff(t *testing.T) {
	t.Parallel()
	const all = 60
	s := serve(t, graph.Streams{})
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for range all {
			s.Quote("rain-excess", nil)
		}
	})
	writing.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Service.Relay(t.Context()); err != nil { //nolint:contextcheck // a pass that runs ends by itself
				t.Error(err)
			}
		}
	})
	for have := int64(0); have < all; {
		l := s.listen(t, "acme", fmt.Sprintf(`subscription { events(afterSequence: %d, types: [QUOTE_CREATED]) { sequence } }`, have))
		for range min(7, all-have) {
			event, _ := l.next()
			require.Equal(t, have+1, event.sequence(t), "nothing is lost and nothing comes twice")
			have++
		}
	}
	stop()
	writing.Wait()
}

func TestSubscriptionsAreJudged(t *testing.T) {
	t.Parallel()
	s := serve(t, graph.Streams{PerPartner: 1})
	claim := s.OnlyClaim(s.shaken(t, 1)[0])
	story := fmt.Sprintf(`subscription { claimTimeline(claimId: %q) { sequence } }`, claim.ID)
	for document, want := range map[string]string{
		story: "not_found",
		`subscription { events { id } a: events { id } }`:                                  "validation_failed",
		`subscription { events @skip(if: true) { id } }`:                                   "validation_failed",
		`subscription($a: Boolean = false) { events @include(if: $a) { id } }`:             "validation_failed",
		`subscription { claimTimeline(claimId: "clm_x") { sequence } }`:                    "not_found",
		`subscription { events(afterSequence: -1) { id } }`:                                "parameter_invalid",
		`subscription { events(partner: "acme") { id } }`:                                  "parameter_invalid",
		`subscription { events { nothing } }`:                                              "validation_failed",
		`subscription { events { ` + strings.Repeat("id ", 6000) + `} }`:                   "query_too_costly",
		`subscription { events { id } claimTimeline(claimId: "x") { id } }`:                "validation_failed",
		`mutation { createWebhookEndpoint(input: {url: "x"}) { webhookEndpoint { id } } }`: "validation_failed",
	} {
		l := s.listen(t, "globex", document)
		refused, complete := l.next()
		require.False(t, complete)
		require.Equal(t, want, refused.code(), document)
		_, complete = l.next()
		require.True(t, complete)
	}
	l := s.listen(t, "acme", story)
	for i := range s.Timeline(claim.ID) {
		entry, _ := l.next()
		require.EqualValues(t, i+1, entry.sequence(t))
	}
	recorder, second := plain{http.MethodPost, "", `{"query":"subscription{events{id}}"}`, []string{"Accept: text/event-stream"}}.to(t, s.door)
	require.Equal(t, http.StatusTooManyRequests, recorder.Code)
	require.Equal(t, "rate_limited", second.code())
	recorder, _ = plain{http.MethodPost, "", `{"query":"subscription{events{id}}"}`, nil}.to(t, s.door)
	require.Equal(t, http.StatusNotAcceptable, recorder.Code)
	query := s.listen(t, "acme", `{ viewer { name } }`)
	got, _ := query.next()
	require.JSONEq(t, `{"viewer":{"name":"acme-client"}}`, string(got.Data))
	_, complete := query.next()
	require.True(t, complete)
}

func TestASubscriptionEndsWithAReason(t *testing.T) {
	t.Parallel()
	for want, end := range map[string]func(*served){
		"token_expired": func(s *served) { s.passed.Store(int64(time.Hour)) },
		"unavailable":   func(s *served) { s.closer.Close() },
		"partner_disabled": func(s *served) {
			_, err := s.Service.DisablePartner(t.Context(), s.Operator, model.PartnerStatusRequest{Slug: "acme", Reason: "The contract ended."})
			if err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := serve(t, graph.Streams{Heartbeat: 5 * time.Millisecond, Patience: 2 * time.Hour})
			s.Quote("rain-excess", nil)
			s.relay(t)
			l := s.listen(t, "acme", `subscription { events { sequence } }`)
			first, _ := l.next()
			require.EqualValues(t, 1, first.sequence(t))
			w := s.dial(t, "acme")
			w.say(`{"id":"1","type":"subscribe","payload":{"query":"subscription { events { sequence } }"}}`)
			require.Equal(t, "next", w.hear().Type)
			go end(s)
			last, _ := l.next()
			require.Equal(t, want, last.code())
			_, complete := l.next()
			require.True(t, complete)
			for told := w.hear(); told.Type != ""; told = w.hear() {
				require.Equal(t, "error", told.Type)
				require.Contains(t, string(told.Payload), want)
				if want == "partner_disabled" {
					return // its socket is of no use, and stays until its token ends
				}
			}
			require.Contains(t, []websocket.StatusCode{4403, websocket.StatusGoingAway}, websocket.CloseStatus(w.err))
		})
	}
}
