package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/wire"
)

// eventReceiver is a partner's receiver; it stores the events that it accepted.
type eventReceiver struct {
	*httptest.Server

	refuse func(event wire.Event, attempt int) bool

	holdNext     atomic.Bool // the next request gets no response
	heldRequests chan context.Context

	mu       sync.Mutex
	attempts map[string]int
	accepted map[string]int
	sequence map[string][]int64 // by subject: the sequences in the order of their first acceptance
}

// newEventReceiver creates an endpoint for all of acme's events.
func (c *processGroup) newEventReceiver(t *testing.T, ordered bool, refuse func(wire.Event, int) bool) *eventReceiver {
	t.Helper()
	m := &eventReceiver{
		refuse: refuse, heldRequests: make(chan context.Context, 1),
		attempts: map[string]int{}, accepted: map[string]int{}, sequence: map[string][]int64{},
	}
	m.Server = httptest.NewServer(http.HandlerFunc(m.handleEvent))
	t.Cleanup(m.Close)
	_, err := c.Service.Webhooks.CreateEndpoint(t.Context(), c.Acme, webhooks.EndpointRequest{URL: &m.URL, Ordered: &ordered})
	require.NoError(t, err)
	return m
}

func (m *eventReceiver) handleEvent(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var event wire.Event
	if err != nil || json.Unmarshal(body, &event) != nil || event.ID != r.Header.Get("Webhook-Id") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if m.holdNext.CompareAndSwap(true, false) {
		m.heldRequests <- r.Context()
		<-r.Context().Done()
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempts[event.ID]++
	if m.refuse(event, m.attempts[event.ID]) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if m.accepted[event.ID]++; m.accepted[event.ID] == 1 {
		m.sequence[event.Subject.ID] = append(m.sequence[event.Subject.ID], event.Sequence)
	}
}

// awaitPendingRequest waits for a request and returns when its sender has ended; the
// request gets no response.
func (m *eventReceiver) awaitPendingRequest(t *testing.T) context.Context {
	t.Helper()
	m.holdNext.Store(true)
	select {
	case sender := <-m.heldRequests:
		return sender
	case <-time.After(time.Minute):
		t.Fatal("no process sends")
		return nil
	}
}

// acceptedEvents returns the accepted events and their total number.
func (m *eventReceiver) acceptedEvents() (events map[string]bool, times int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	events = map[string]bool{}
	for id, n := range m.accepted {
		events[id], times = true, times+n
	}
	return events, times
}
