package jobs

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/wire"
)

// arrivalTimes counts how often each sequence arrived.
func (r *receiver) arrivalTimes(t *testing.T) map[int64]int {
	t.Helper()
	times := make(map[int64]int)
	for _, got := range r.allReceived() {
		var event wire.Event
		require.NoError(t, wire.Decode([]byte(got.body), &event))
		times[event.Sequence]++
	}
	return times
}

func TestBacklogIsDeliveredOnceWhenOneEventFails(t *testing.T) {
	t.Parallel()
	const backlog, bad = 1500, 700 // some batches before and behind
	s := newFixtureWith(t, noWait, modeltest.WithoutChecks())
	var refused atomic.Pointer[string]
	r := newReceiver(t, respondWithStatus(200))
	r.setAnswer(func(w http.ResponseWriter, request *http.Request) {
		if len(r.allReceived()) >= bad && refused.CompareAndSwap(nil, new(request.Header.Get("Webhook-Id"))) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s.createEndpoint(r, "quote.created")
	s.writePendingEvents(backlog)
	s.relayEvents()
	s.startWorkers()
	s.requireEventually(func() bool { return s.countRows("deliveries") == backlog }, "each was tried")
	s.requireEventually(func() bool { return s.countRows("webhook_progress where lease_id is null") == 1 }, "the drain ended")
	require.Len(t, r.arrivalTimes(t), backlog)
	sent := make(map[string]int)
	for _, request := range r.allReceived() {
		sent[request.header.Get("Webhook-Id")]++
	}
	delete(sent, *refused.Load()) // on a slow machine its next attempt is due
	for id, times := range sent {
		require.Equal(t, 1, times, id)
	}
	require.Equal(t, backlog-1, s.countRows("deliveries where status = 'delivered' and attempts_in_round = 1"))
	s.AdvanceClock(time.Minute)
	_, err := s.Service.Webhooks.StartDeliveries(t.Context())
	require.NoError(t, err)
	s.requireEventually(func() bool { return s.countRows("deliveries where status = 'delivered'") == backlog }, "and is sent again")
	require.Len(t, r.allReceived(), backlog+1)
	require.Equal(t, 1, s.countRows("webhook_progress where cursor = (select max(sequence) from event_sequence)"))
}

func TestPrefetchedBatchFollowsTheCurrentOne(t *testing.T) {
	t.Parallel()
	s := newFixtureWith(t, noWait, modeltest.WithoutChecks())
	r := newReceiver(t, respondWithStatus(200))
	endpoint := s.createEndpoint(r, "quote.created")
	s.writePendingEvents(600)
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	first, err := s.Service.Webhooks.FetchBatch(t.Context(), job)
	require.NoError(t, err)
	require.Len(t, first.Items, 256)
	second, err := s.Service.Webhooks.Prefetch(t.Context(), job, first)
	require.NoError(t, err)
	require.Equal(t, first.Cursor+1, second.Items[0].Event.Sequence)
	require.Equal(t, first.URL, second.URL)
	require.Equal(t, first.Secrets, second.Secrets)
	short, err := s.Service.Webhooks.Prefetch(t.Context(), job, second)
	require.NoError(t, err)
	require.Nil(t, short, "less than a batch waits for the one before")

	r.setAnswer(respondWithStatus(500))
	s.keeps(job, first, s.sends(first))
	third, err := s.Service.Webhooks.FetchBatch(t.Context(), job)
	require.NoError(t, err)
	require.Nil(t, third, "what failed waits for its probe")
	s.AdvanceClock(time.Minute)
	again, err := s.Service.Webhooks.Prefetch(t.Context(), job, first)
	require.NoError(t, err)
	require.Nil(t, again, "what is due again goes first")
}

func TestLostLeaseStopsDelivery(t *testing.T) {
	t.Parallel()
	const backlog = 2000
	s := newFixtureWith(t, noWait, modeltest.WithoutChecks())
	r := newReceiver(t, respondWithStatus(200))
	endpoint := s.createEndpoint(r, "quote.created")
	var deleted atomic.Bool
	r.setAnswer(func(_ http.ResponseWriter, request *http.Request) {
		if len(r.allReceived()) >= 300 && deleted.CompareAndSwap(false, true) { // in the second batch
			if err := s.Service.Webhooks.DeleteEndpoint(request.Context(), s.Acme, endpoint.ID); err != nil {
				t.Error(err)
			}
		}
	})
	s.writePendingEvents(backlog)
	s.relayEvents()
	s.startWorkers()
	s.requireEventually(func() bool {
		return s.countRows("river.river_job where kind = 'deliver_endpoint' and finalized_at is not null") > 0
	}, "the drain ends")
	require.LessOrEqual(t, len(r.allReceived()), 4*256, "the batch that was on its way and the one ahead of it")
}
