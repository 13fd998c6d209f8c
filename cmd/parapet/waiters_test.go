package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/internal/gateway"
	"parapet/model/kernel/actor"
	"parapet/model/modeltest"
	"parapet/rest"
)

// waiterFixture is the API on real connections, with few database connections and a
// relay. A token is the name of its partner.
type waiterFixture struct {
	*modeltest.Bundle

	waiters *gateway.Waiters
	server  *httptest.Server
}

func newWaiterFixture(t *testing.T, waiters *gateway.Waiters) *waiterFixture {
	t.Helper()
	f := &waiterFixture{Bundle: modeltest.New(t, modeltest.WithConnections(4)), waiters: waiters}
	subscriptions, err := graph.New(graph.Config{Service: f.Service, Streams: graph.Streams{Now: time.Now, Waiters: waiters}})
	require.NoError(t, err)
	handler, err := rest.New(rest.Config{
		Service: f.Service, Now: time.Now, Limiter: rest.Unlimited{}, Waiters: waiters, SharedHandlers: map[string]http.Handler{"/graphql": subscriptions},
		PingDatabase: f.DB.Pool.Ping,
		Authenticate: func(_ context.Context, token string) (actor.Actor, error) {
			return map[string]actor.Actor{"acme": f.Acme, "globex": f.Globex}[token], nil
		},
	})
	require.NoError(t, err)
	f.server = httptest.NewServer(handler)
	t.Cleanup(f.server.Close)
	t.Cleanup(subscriptions.Close)
	t.Cleanup(f.Service.Events.EndWaits)
	return f
}

// pollFeed reads the feed over a connection of its own.
func pollFeed(ctx context.Context, base, token, query string) response {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		return response{body: err.Error()}
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err = fmt.Fprintf(conn, "GET /v1/events?%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", query, token); err != nil {
		return response{body: err.Error()}
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	if err != nil {
		return response{body: err.Error()}
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return response{body: err.Error()}
	}
	return response{answer.StatusCode, answer.Header, string(text)}
}

// eventSocket is a WebSocket with subscriptions to the feed.
type eventSocket struct{ *websocket.Conn }

// socketMessage is a message of graphql-transport-ws.
type socketMessage struct {
	ID, Type string
	text     string
}

func openSocket(ctx context.Context, base, token string) (*eventSocket, error) {
	conn, _, err := websocket.Dial(ctx, base+"/graphql", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}) //nolint:bodyclose // the connection was taken over
	if err != nil {
		return nil, err
	}
	s := &eventSocket{conn}
	return s, s.Write(ctx, websocket.MessageText, []byte(`{"type":"connection_init","payload":{"Authorization":"Bearer `+token+`"}}`))
}

func (s *eventSocket) subscribe(ctx context.Context, id string, after int64) error {
	return s.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"id":%q,"type":"subscribe","payload":{"query":"subscription { events(afterSequence: %d) { sequence } }"}}`, id, after))
}

// next returns the next message about an operation.
func (s *eventSocket) next(ctx context.Context) (m socketMessage, err error) {
	for m.ID == "" {
		_, text, err := s.Read(ctx)
		if err != nil {
			return m, err
		}
		if err := json.Unmarshal(text, &m, json.MatchCaseInsensitiveNames(true)); err != nil {
			return m, err
		}
		m.text = string(text)
	}
	return m, nil
}

// followFeed opens a socket of its own with one subscription and returns its first
// message.
func followFeed(ctx context.Context, base, token string, after int64) (socketMessage, error) {
	s, err := openSocket(ctx, base, token)
	if err != nil {
		return socketMessage{}, err
	}
	defer func() { _ = s.CloseNow() }()
	if err := s.subscribe(ctx, "1", after); err != nil {
		return socketMessage{}, err
	}
	return s.next(ctx)
}

// openWaiters opens polls and subscriptions of acme that wait for the event after the
// first. done returns when all have it.
func openWaiters(ctx context.Context, t testing.TB, base, token string, polls, subscriptions int) (done func()) {
	t.Helper()
	var all sync.WaitGroup
	opening := make(chan struct{}, 8) // as a client that opens them one after the other
	for i := range polls + subscriptions {
		opening <- struct{}{}
		all.Go(func() {
			defer func() { <-opening }()
			if i < polls {
				all.Go(func() {
					if got := pollFeed(ctx, base, token, "after_sequence=1&wait=30"); got.status != http.StatusOK || !strings.Contains(got.body, `"sequence":2,`) {
						t.Errorf("poll: %d %s", got.status, got.body)
					}
				})
				return
			}
			s, err := openSocket(ctx, base, token)
			if err == nil {
				err = s.subscribe(ctx, "1", 1)
			}
			if err != nil {
				t.Errorf("subscription: %v", err)
				return
			}
			all.Go(func() {
				defer func() { _ = s.CloseNow() }()
				if m, err := s.next(ctx); m.Type != "next" || !strings.Contains(m.text, `"sequence":2}`) {
					t.Errorf("subscription: %s %v", m.text, err)
				}
			})
		})
	}
	return all.Wait
}

func TestManyWaitersGetAnEventWhileOthersAreServed(t *testing.T) {
	t.Parallel()
	const polls, subscriptions = 500, 500
	f := newWaiterFixture(t, gateway.NewWaiters(polls+subscriptions, polls+subscriptions))
	f.Quote("rain-excess", nil)
	f.Relay()
	done := openWaiters(t.Context(), t, f.server.URL, "acme", polls, subscriptions)
	require.Eventually(t, func() bool { return f.waiters.Count() == polls+subscriptions }, time.Minute, 5*time.Millisecond)
	serve := func() time.Duration {
		began := time.Now()
		require.Equal(t, http.StatusOK, pollFeed(t.Context(), f.server.URL, "globex", "limit=1").status)
		return time.Since(began)
	}
	serve()
	require.Eventually(t, func() bool { return f.DB.Pool.Stat().AcquiredConns() <= 1 }, time.Minute, 5*time.Millisecond,
		"waiting calls must not hold connections")
	f.Quote("rain-excess", nil)
	f.Relay()
	ended := make(chan struct{})
	go func() {
		done()
		close(ended)
	}()
	var took []time.Duration
	for waiting := true; waiting; {
		took = append(took, serve())
		select {
		case <-ended:
			waiting = false
		default:
		}
	}
	slices.Sort(took)
	t.Logf("%d others were served meanwhile, median %v, slowest %v", len(took), took[len(took)/2], took[len(took)-1])
	require.Less(t, took[len(took)/2], time.Second)
	require.Eventually(t, func() bool { return f.waiters.Count() == 0 }, time.Minute, 5*time.Millisecond)
}

func TestWaitersAboveTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	f := newWaiterFixture(t, gateway.NewWaiters(2, 3))
	ctx, leave := context.WithCancel(t.Context())
	poll := func(token string) { go pollFeed(ctx, f.server.URL, token, "wait=30") }
	opened := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool { return f.waiters.Count() == n }, time.Minute, time.Millisecond)
	}
	poll("acme")
	s, err := openSocket(t.Context(), f.server.URL, "acme")
	require.NoError(t, err)
	defer func() { _ = s.CloseNow() }()
	opened(2)
	refused := pollFeed(t.Context(), f.server.URL, "acme", "wait=30")
	require.Equal(t, []any{http.StatusTooManyRequests, "rate_limited", "5"}, []any{refused.status, refused.errorCode(), refused.header.Get("Retry-After")})
	require.Equal(t, http.StatusOK, pollFeed(t.Context(), f.server.URL, "acme", "").status, "it does not wait")
	require.NoError(t, s.subscribe(t.Context(), "first", 0)) // it counts as one with its socket
	require.NoError(t, s.subscribe(t.Context(), "second", 0))
	m, err := s.next(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{"second", "error"}, []any{m.ID, m.Type}, m.text)
	require.Contains(t, m.text, `"code":"rate_limited"`)
	_, err = followFeed(t.Context(), f.server.URL, "acme", 0)
	require.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(err), err)
	require.ErrorContains(t, err, "rate_limited")
	poll("globex")
	opened(3)
	refused = pollFeed(t.Context(), f.server.URL, "globex", "wait=30")
	require.Equal(t, []any{http.StatusServiceUnavailable, "unavailable", "5"}, []any{refused.status, refused.errorCode(), refused.header.Get("Retry-After")})
	_, err = followFeed(t.Context(), f.server.URL, "globex", 0)
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err), err)
	leave()
	opened(1)
	again, err := openSocket(t.Context(), f.server.URL, "acme")
	require.NoError(t, err)
	opened(2)
	require.NoError(t, again.Close(websocket.StatusNormalClosure, ""))
	opened(1)
}
