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
	"parapet/internal/gateway"
	"parapet/model/partners"
)

// servedFixture is the fixture on a server of its own, with a clock that the test
// advances.
type servedFixture struct {
	*fixture

	address string
	closer  *graph.Handler
	passed  atomic.Int64
}

func newServedFixture(t *testing.T, streams graph.Streams) *servedFixture {
	t.Helper()
	return newServedFixtureOn(t, newFixture(t), graph.Config{Streams: streams})
}

// newServedFixtureOn is newServedFixture with another database or another configuration.
func newServedFixtureOn(t *testing.T, d *fixture, config graph.Config) *servedFixture {
	t.Helper()
	s := &servedFixture{fixture: d}
	began := time.Now()
	config.Streams.Now = func() time.Time { return began.Add(time.Duration(s.passed.Load())) }
	s.Acme.ExpiresAt = began.Add(time.Hour)
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

// pipeListener is a listener whose connections have no buffer: a write waits until it is
// read.
type pipeListener chan net.Conn

func (p pipeListener) Accept() (net.Conn, error) {
	conn, open := <-p
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipeListener) Close() error { close(p); return nil }

func (pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// overPipes serves connections that are pipes.
func (s *servedFixture) overPipes(t *testing.T) pipeListener {
	t.Helper()
	p := make(pipeListener)
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(p) }()
	t.Cleanup(func() { _ = server.Close() })
	return p
}

func (p pipeListener) dialPipe(t *testing.T) net.Conn {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { _ = near.Close() })
	p <- far
	return near
}

// openSlowSubscription opens a subscription over a pipe.
func (p pipeListener) openSlowSubscription(t *testing.T) *bufio.Reader {
	t.Helper()
	near := p.dialPipe(t)
	const body = `{"query":"subscription { events { data } }"}`
	_, err := fmt.Fprintf(near, "POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: acme\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	require.NoError(t, err)
	return bufio.NewReaderSize(near, 16)
}

func TestSlowSubscriberIsDropped(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{WriteTimeout: time.Minute, Heartbeat: time.Hour})
	s.QuoteAndBind("quake-circle", nil)
	s.relayEvents(t)
	slow := s.overPipes(t).openSlowSubscription(t)
	for line := ""; line != "next\ndata: "; { // the first event is half read
		var err error
		line, err = slow.ReadString(' ')
		require.NoError(t, err)
	}
	healthy := s.openEventStream(t, "acme", `subscription { events { sequence } }`)
	for sequence := range int64(3) {
		event, _ := healthy.nextEvent()
		require.Equal(t, sequence+1, event.eventSequence(t), "others are not kept waiting")
	}
	s.passed.Store(int64(2 * time.Minute))
	for line := ""; !strings.Contains(line, "read_too_slowly"); {
		var err error
		line, err = slow.ReadString('\n')
		require.NoError(t, err)
	}
}

// eventReader reads server-sent events.
type eventReader struct {
	*bufio.Scanner

	t *testing.T
}

func (s *servedFixture) openEventStream(t *testing.T, as, document string) *eventReader {
	t.Helper()
	return s.listenUntil(t.Context(), t, as, document)
}

func (s *servedFixture) listenUntil(ctx context.Context, t *testing.T, as, document string) *eventReader {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": document})
	require.NoError(t, err)
	return s.openStream(ctx, t, as, string(body))
}

// openStream sends a request and returns its open response.
func (s *servedFixture) openStream(ctx context.Context, t *testing.T, as, body string) *eventReader {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.address+"/graphql", strings.NewReader(body))
	require.NoError(t, err)
	request.Header = http.Header{"Authorization": {as}, "Content-Type": {jsonType}, "Accept": {"text/event-stream"}}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, "text/event-stream; charset=utf-8", response.Header.Get("Content-Type"))
	return &eventReader{bufio.NewScanner(response.Body), t}
}

// nextEvent returns the next event; complete when none follows.
func (l *eventReader) nextEvent() (out response, complete bool) {
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

// eventSequence returns the sequence of an event.
func (a response) eventSequence(t *testing.T) (n int64) {
	t.Helper()
	require.Empty(t, a.Errors)
	var fields map[string]struct{ Sequence int64 }
	require.NoError(t, json.Unmarshal(a.Data, &fields, json.MatchCaseInsensitiveNames(true)))
	for _, field := range fields {
		n = field.Sequence
	}
	return n
}

func TestSubscriptionResumesAfterSequence(t *testing.T) {
	t.Parallel()
	const all = 60
	s := newServedFixture(t, graph.Streams{})
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for range all {
			s.Quote("rain-excess", nil)
		}
	})
	writing.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Service.Events.Relay(t.Context()); err != nil { //nolint:contextcheck // a pass that runs ends by itself
				t.Error(err)
			}
		}
	})
	for have := int64(0); have < all; {
		l := s.openEventStream(t, "acme", fmt.Sprintf(`subscription { events(afterSequence: %d, types: [QUOTE_CREATED]) { sequence } }`, have))
		for range min(7, all-have) {
			event, _ := l.nextEvent()
			require.Equal(t, have+1, event.eventSequence(t), "nothing is lost and nothing comes twice")
			have++
		}
	}
	stop()
	writing.Wait()
}

func TestSubscriptionsAreValidated(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{Waiters: gateway.NewWaiters(1, 10)})
	claim := s.OnlyClaim(s.observeQuake(t, 1)[0])
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
		l := s.openEventStream(t, "globex", document)
		refused, complete := l.nextEvent()
		require.False(t, complete)
		require.Equal(t, want, refused.errorCode(), document)
		_, complete = l.nextEvent()
		require.True(t, complete)
	}
	l := s.openEventStream(t, "acme", story)
	for i := range s.Timeline(claim.ID) {
		entry, _ := l.nextEvent()
		require.EqualValues(t, i+1, entry.eventSequence(t))
	}
	recorder, second := plain{http.MethodPost, "", `{"query":"subscription{events{id}}"}`, []string{"Accept: text/event-stream"}}.to(t, s.fixture)
	require.Equal(t, http.StatusTooManyRequests, recorder.Code)
	require.Equal(t, "rate_limited", second.errorCode())
	recorder, _ = plain{http.MethodPost, "", `{"query":"subscription{events{id}}"}`, nil}.to(t, s.fixture)
	require.Equal(t, http.StatusNotAcceptable, recorder.Code)
	query := s.openEventStream(t, "acme", `{ viewer { name } }`)
	got, _ := query.nextEvent()
	require.JSONEq(t, `{"viewer":{"name":"acme-client"}}`, string(got.Data))
	_, complete := query.nextEvent()
	require.True(t, complete)
}

func TestASubscriptionEndsWithAReason(t *testing.T) {
	t.Parallel()
	for want, end := range map[string]func(*servedFixture){
		"token_expired": func(s *servedFixture) { s.passed.Store(int64(time.Hour)) },
		"unavailable":   func(s *servedFixture) { s.closer.Close() },
		"partner_disabled": func(s *servedFixture) {
			_, err := s.Service.Partners.Disable(t.Context(), s.Operator, partners.StatusRequest{Slug: "acme", Reason: "The contract ended."})
			if err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := newServedFixture(t, graph.Streams{Heartbeat: 5 * time.Millisecond, WriteTimeout: 2 * time.Hour})
			s.Quote("rain-excess", nil)
			s.relayEvents(t)
			l := s.openEventStream(t, "acme", `subscription { events { sequence } }`)
			first, _ := l.nextEvent()
			require.EqualValues(t, 1, first.eventSequence(t))
			w := s.dialSocket(t, "acme")
			w.sendMessage(`{"id":"1","type":"subscribe","payload":{"query":"subscription { events { sequence } }"}}`)
			require.Equal(t, "next", w.readMessage().Type)
			go end(s)
			last, _ := l.nextEvent()
			require.Equal(t, want, last.errorCode())
			_, complete := l.nextEvent()
			require.True(t, complete)
			for message := w.readMessage(); message.Type != ""; message = w.readMessage() {
				require.Equal(t, "error", message.Type)
				require.Contains(t, string(message.Payload), want)
				if want == "partner_disabled" {
					return // its socket is of no use, and stays until its token ends
				}
			}
			require.Contains(t, []websocket.StatusCode{4403, websocket.StatusGoingAway}, websocket.CloseStatus(w.err))
		})
	}
}
