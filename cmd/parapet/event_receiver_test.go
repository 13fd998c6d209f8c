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

	"parapet/model"
	"parapet/model/wire"
)

// mailbox is a partner's receiver: it keeps what it accepted.
type mailbox struct {
	*httptest.Server

	refuse func(event wire.Event, attempt int) bool

	catch  atomic.Bool // the next request is not answered
	caught chan context.Context

	mu       sync.Mutex
	attempts map[string]int
	accepted map[string]int
	sequence map[string][]int64 // of each subject, as accepted for the first time
}

// mailbox opens one for all of acme's events.
func (c *cloud) mailbox(t *testing.T, ordered bool, refuse func(wire.Event, int) bool) *mailbox {
	t.Helper()
	m := &mailbox{
		refuse: refuse, caught: make(chan context.Context, 1),
		attempts: map[string]int{}, accepted: map[string]int{}, sequence: map[string][]int64{},
	}
	m.Server = httptest.NewServer(http.HandlerFunc(m.receive))
	t.Cleanup(m.Close)
	_, err := c.Service.CreateWebhookEndpoint(t.Context(), c.Acme, model.WebhookEndpointRequest{URL: &m.URL, Ordered: &ordered})
	require.NoError(t, err)
	return m
}

func (m *mailbox) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var event wire.Event
	if err != nil || json.Unmarshal(body, &event) != nil || event.ID != r.Header.Get("Webhook-Id") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if m.catch.CompareAndSwap(true, false) {
		m.caught <- r.Context()
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

// next is a request that came in and is not answered until its sender is gone.
func (m *mailbox) next(t *testing.T) context.Context {
	t.Helper()
	m.catch.Store(true)
	select {
	case sender := <-m.caught:
		return sender
	case <-time.After(time.Minute):
		t.Fatal("nobody sends")
		return nil
	}
}

// got is what was accepted: which events, and how often in all.
func (m *mailbox) got() (events map[string]bool, times int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	events = map[string]bool{}
	for id, n := range m.accepted {
		events[id], times = true, times+n
	}
	return events, times
}
