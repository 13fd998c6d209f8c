package graph_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"parapet/graph"
	"parapet/internal/gateway"
)

// socketClient is the WebSocket client of a test.
type socketClient struct {
	*websocket.Conn

	t   *testing.T
	err error // that ended it
}

// said is a message from the server; the zero value after the server closed the
// connection.
type said struct {
	ID, Type string
	Payload  jsontext.Value
}

func (s *servedFixture) connectSocket(t *testing.T, header http.Header, protocols ...string) (c *socketClient, status int, err error) {
	t.Helper()
	return connect(t, s.address, &websocket.DialOptions{Subprotocols: protocols, HTTPHeader: header})
}

func connect(t *testing.T, address string, options *websocket.DialOptions) (c *socketClient, status int, err error) {
	t.Helper()
	conn, response, err := websocket.Dial(t.Context(), address+"/graphql", options)
	if err == nil {
		t.Cleanup(func() { _ = conn.CloseNow() })
	} else {
		_ = response.Body.Close()
	}
	return &socketClient{Conn: conn, t: t}, response.StatusCode, err
}

// dialSocket opens a WebSocket and waits for the acknowledgement.
func (s *servedFixture) dialSocket(t *testing.T, as string) *socketClient {
	t.Helper()
	c, _, err := s.connectSocket(t, nil, "graphql-transport-ws")
	require.NoError(t, err)
	c.sendMessage(fmt.Sprintf(`{"type":"connection_init","payload":{"Authorization":%q}}`, as))
	require.Equal(t, "connection_ack", c.readMessage().Type)
	return c
}

func (c *socketClient) sendMessage(text string) {
	c.t.Helper()
	require.NoError(c.t, c.Write(c.t.Context(), websocket.MessageText, []byte(text)))
}

func (c *socketClient) readMessage() (m said) {
	c.t.Helper()
	_, text, err := c.Read(c.t.Context())
	if c.err = err; err == nil {
		require.NoError(c.t, json.Unmarshal(text, &m, json.MatchCaseInsensitiveNames(true)))
	}
	return m
}

func TestSocketsSpeakTheProtocol(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{MaxPerSocket: 2, Origins: []string{"https://console.example"}})
	s.Quote("rain-excess", nil)
	s.relayEvents(t)
	c := s.dialSocket(t, "acme")
	c.sendMessage(`{"type":"ping","payload":{"a":1}}`)
	require.Equal(t, said{Type: "pong", Payload: jsontext.Value(`{"a":1}`)}, c.readMessage())
	c.sendMessage(`{"id":"q","type":"subscribe","payload":{"query":"{ viewer { name } }"}}`)
	require.Contains(t, string(c.readMessage().Payload), `{"data":{"viewer":{"name":"acme-client"}},"extensions":{"cost":{"requested":1`)
	require.Equal(t, said{ID: "q", Type: "complete"}, c.readMessage())
	c.sendMessage(`{"id":"b","type":"subscribe","payload":{"query":"subscription { events { nothing } }"}}`)
	refused := c.readMessage()
	require.Equal(t, "error", refused.Type)
	require.Contains(t, string(refused.Payload), "validation_failed")
	c.sendMessage(`{"id":"b","type":"subscribe","payload":{"query":"subscription($a: Boolean!) { events @skip(if: $a) { id } }","variables":{"a":true}}}`)
	require.Contains(t, string(c.readMessage().Payload), "A subscription selects exactly one field.")
	for _, id := range []string{"1", "2"} {
		c.sendMessage(fmt.Sprintf(`{"id":%q,"type":"subscribe","payload":{"query":"subscription($n: Long) { events(afterSequence: $n) { sequence } }","variables":{"n":0}}}`, id))
		require.Equal(t, id, c.readMessage().ID)
	}
	c.sendMessage(`{"id":"3","type":"subscribe","payload":{"query":"{ viewer { name } }"}}`)
	require.Contains(t, string(c.readMessage().Payload), "rate_limited")
	c.sendMessage(`{"id":"1","type":"complete"}`)
	c.sendMessage(`{"type":"ping"}`)
	require.Equal(t, "pong", c.readMessage().Type, "the server has read that operation 1 is complete")
	s.Quote("rain-excess", nil)
	s.relayEvents(t)
	require.Equal(t, "2", c.readMessage().ID, "the other one goes on")
	c.sendMessage(`{"id":"2","type":"subscribe","payload":{"query":"{ viewer { name } }"}}`)
	for c.readMessage().Type != "" {
	}
	require.Equal(t, websocket.StatusCode(4409), websocket.CloseStatus(c.err))
}

// The client may use an id and its place again as soon as it has completed the operation.
func TestCompleteFreesIDAndPlaceAtOnce(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{MaxPerSocket: 1, Waiters: gateway.NewWaiters(1, 1)})
	s.Quote("rain-excess", nil)
	s.relayEvents(t)
	c := s.dialSocket(t, "acme")
	for i := range 40 {
		id := fmt.Sprint(i / 2) // every id twice
		c.sendMessage(fmt.Sprintf(`{"id":%q,"type":"subscribe","payload":{"query":"subscription { events(afterSequence: 0) { sequence } }"}}`, id))
		m := c.readMessage()
		require.Equal(t, []string{id, "next"}, []string{m.ID, m.Type}, "%s %v", m.Payload, c.err)
		c.sendMessage(fmt.Sprintf(`{"id":%q,"type":"complete"}`, id))
	}
}

// pushedBack is a connection whose first bytes were read before.
type pushedBack struct {
	net.Conn

	first []byte
}

func (p *pushedBack) Read(into []byte) (int, error) {
	if len(p.first) == 0 {
		return p.Conn.Read(into)
	}
	n := copy(into, p.first)
	p.first = p.first[n:]
	return n, nil
}

func TestASocketThatReadsTooSlowlyIsDropped(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{WriteTimeout: time.Minute, Heartbeat: time.Hour})
	s.QuoteAndBind("quake-circle", nil)
	s.relayEvents(t)
	near := s.overPipes(t).dialPipe(t)
	slow := &pushedBack{Conn: near}
	over := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return slow, nil }}}
	c, _, err := connect(t, "http://pipe", &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}, HTTPClient: over})
	require.NoError(t, err)
	c.sendMessage(`{"type":"connection_init","payload":{"Authorization":"acme"}}`)
	require.Equal(t, "connection_ack", c.readMessage().Type)
	c.sendMessage(`{"id":"1","type":"subscribe","payload":{"query":"subscription { events { data } }"}}`)
	slow.first = make([]byte, 1)
	_, err = near.Read(slow.first) // the first event is being written
	require.NoError(t, err)
	s.passed.Store(int64(2 * time.Minute))
	require.Equal(t, "next", c.readMessage().Type)
	message := c.readMessage()
	require.Equal(t, "error", message.Type)
	require.Contains(t, string(message.Payload), "read_too_slowly")
	c.readMessage()
	require.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(c.err))
	require.ErrorContains(t, c.err, "read_too_slowly")
}

func TestSilentSocketIsClosed(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{InitTimeout: time.Millisecond})
	c, _, err := s.connectSocket(t, nil, "graphql-transport-ws")
	require.NoError(t, err)
	c.readMessage()
	require.Equal(t, websocket.StatusCode(4408), websocket.CloseStatus(c.err))
	require.ErrorContains(t, c.err, "Connection initialisation timeout")
}

func TestSocketsAreRefused(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{Origins: []string{"https://console.example"}})
	const protocol = "graphql-transport-ws"
	const init = `{"type":"connection_init","payload":{"Authorization":"acme"}}`
	for name, test := range map[string]struct {
		say  []string
		code websocket.StatusCode
	}{
		"no greeting":    {[]string{`{"id":"1","type":"subscribe","payload":{"query":"{viewer{name}}"}}`}, 4401},
		"no token":       {[]string{`{"type":"connection_init"}`}, 4403},
		"a wrong token":  {[]string{`{"type":"connection_init","payload":{"authorization":"Bearer x"}}`}, 4403},
		"no JSON":        {[]string{`{`}, 4400},
		"a wrong type":   {[]string{`{"type":"start"}`}, 4400},
		"greeting twice": {[]string{init, `{"type":"connection_init"}`}, 4429},
		"no id":          {[]string{init, `{"type":"subscribe","payload":{}}`}, 4400},
		"no payload":     {[]string{init, `{"id":"1","type":"subscribe"}`}, 4400},
		"a null payload": {[]string{init, `{"id":"1","type":"subscribe","payload":null}`}, 4400},
		"a list":         {[]string{init, `{"id":"1","type":"subscribe","payload":[]}`}, 4400},
		"no query":       {[]string{init, `{"id":"1","type":"subscribe","payload":{"variables":{}}}`}, 4400},
		"a null query":   {[]string{init, `{"id":"1","type":"subscribe","payload":{"query":null}}`}, 4400},
		"a wrong query":  {[]string{init, `{"id":"1","type":"subscribe","payload":{"query":1}}`}, 4400},
		"too long":       {[]string{string(make([]byte, 2<<20))}, websocket.StatusMessageTooBig},
	} {
		c, _, err := s.connectSocket(t, nil, protocol)
		require.NoError(t, err)
		for _, text := range test.say {
			_ = c.Write(t.Context(), websocket.MessageText, []byte(text))
		}
		for c.readMessage().Type != "" {
		}
		require.Equal(t, test.code, websocket.CloseStatus(c.err), "%s: %v", name, c.err)
	}
	other, _, err := s.connectSocket(t, nil, "graphql-ws")
	require.NoError(t, err)
	other.readMessage()
	require.Equal(t, websocket.StatusCode(4406), websocket.CloseStatus(other.err))
	for origin, welcome := range map[string]bool{s.address: true, "https://console.example": true, "https://evil.example": false, "null": false} {
		_, status, err := s.connectSocket(t, http.Header{"Origin": {origin}}, protocol)
		require.Equal(t, welcome, err == nil, origin)
		if !welcome {
			require.Equal(t, http.StatusForbidden, status)
		}
	}
	_, status, err := s.connectSocket(t, http.Header{"Authorization": {"nonsense"}}, protocol)
	require.Error(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	c, _, err := s.connectSocket(t, http.Header{"Authorization": {"acme"}}, protocol)
	require.NoError(t, err)
	c.sendMessage(`{"type":"connection_init"}`)
	require.Equal(t, "connection_ack", c.readMessage().Type, "the header's token is enough")
}
