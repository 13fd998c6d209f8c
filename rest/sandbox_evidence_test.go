package rest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/rest"
)

// A client that gets a Retry-After and comes back later is noted; one that comes back too early
// is not, even if its next request succeeds.
func TestChecklistNotesAClientThatWaits(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	clock := &testClock{at: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)}
	var err error
	h.handler, err = rest.New(rest.Config{
		Service: h.Service, Authenticate: h.authenticate, Development: true,
		Now: clock.now, Limiter: rest.NewLimiter(rest.RateLimit{PerSecond: 1, Burst: 1}, clock.now),
	})
	require.NoError(t, err)
	send := func(status int, after time.Duration) {
		clock.advance(after)
		require.Equal(t, status, h.sendAs(t, "acme", nil, request{"GET", "/v1/quotes", "", nil}).StatusCode)
	}
	evidence := func(partner string) *string {
		list, err := h.Service.Sandbox.GetChecklist(t.Context(), modeltest.Partner(partner))
		require.NoError(t, err)
		require.Equal(t, "retry_after_honoured", list.Items[3].Item)
		return list.Items[3].Evidence
	}
	send(200, 0)
	send(429, 100*time.Millisecond) // come back after a second
	send(200, 950*time.Millisecond) // 50 ms too early, though the limit allows it
	require.Nil(t, evidence("acme"))
	send(200, time.Hour)
	require.Nil(t, evidence("acme"), "no answer had asked to wait")
	send(429, 100*time.Millisecond)
	send(200, time.Second)
	require.NotNil(t, evidence("acme"))
	require.Contains(t, *evidence("acme"), "After GET /quotes had asked to wait until 2026-05-04T13:00:02Z, the next request came at 2026-05-04T13:00:02Z.")
	require.Nil(t, evidence("globex"))
}
