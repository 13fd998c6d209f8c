package graph_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"parapet/graph"
)

// endedRequest sends a query whose context has ended before it is run.
func (d *fixture) endedRequest(ctx context.Context, t *testing.T) (status int, body string) {
	t.Helper()
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(kindly))
	request.Header.Set("Authorization", "acme")
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	d.ServeHTTP(recorder, request)
	return recorder.Code, recorder.Body.String()
}

// The library sends no response once a request's context has ended.
func TestRequestThatEndedBeforeItRanIsAnsweredWithAnError(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	status, body := d.endedRequest(late, t)
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	require.Contains(t, body, `"code":"unavailable"`)
	require.Len(t, d.loggedCauses, 1, "giving up is a fault of the server")

	left, leave := context.WithCancel(t.Context())
	leave()
	status, body = d.endedRequest(left, t)
	require.GreaterOrEqual(t, status, 500, body)
	require.NotContains(t, body, `"data"`)
	require.Len(t, d.loggedCauses, 1, "leaving is not")
}

// The closing frame is the only place where a client reads of a broken protocol rule.
func TestSecondOperationUnderOneIDClosesTheSocketAlone(t *testing.T) {
	t.Parallel()
	s := newServedFixture(t, graph.Streams{})
	c := s.dialSocket(t, "acme")
	const follow = `{"id":"1","type":"subscribe","payload":{"query":"subscription { events { sequence } }"}}`
	c.sendMessage(follow)
	c.sendMessage(strings.Replace(follow, `"1"`, `"2"`, 1))
	c.sendMessage(follow)
	require.Equal(t, said{}, c.readMessage(), "no error and no complete comes before the closing frame")
	require.Equal(t, websocket.StatusCode(4409), websocket.CloseStatus(c.err))
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.loggedCauses)
}
