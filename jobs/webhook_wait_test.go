package jobs

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/wire"
)

// sendDue sends one batch of the due events of an endpoint and saves the results, as a
// worker does.
func (s *fixture) sendDue(job webhooks.DeliverEndpoint) {
	s.t.Helper()
	batch, err := s.Service.Webhooks.FetchBatch(s.t.Context(), job)
	require.NoError(s.t, err)
	if batch != nil {
		s.keeps(job, batch, s.sends(batch))
	}
}

// receivedEvents returns the type and subject of each event that a receiver got, in
// order.
func (r *receiver) receivedEvents(t *testing.T) (events []string) {
	t.Helper()
	for _, got := range r.allReceived() {
		var event wire.Event
		require.NoError(t, wire.Decode([]byte(got.body), &event))
		events = append(events, event.Type+" "+event.Subject.ID)
	}
	return events
}

// A new event of a subject waits until the failed delivery of an earlier one has been
// retried; events of other subjects are sent meanwhile.
func TestOrderedEndpointSendsNoEventBeforeTheRetryOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(http.StatusServiceUnavailable))
	endpoint, err := s.Service.Webhooks.CreateEndpoint(t.Context(), s.Acme, webhooks.EndpointRequest{
		URL: &r.URL, EventTypes: []string{"quote.created", "quote.bound"}, Ordered: new(true),
	})
	require.NoError(t, err)
	first := s.Quote("rain-excess", nil)
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	s.sendDue(job)
	created, bound := "quote.created "+first.ID, "quote.bound "+first.ID
	require.Equal(t, []string{created}, r.receivedEvents(t), "and it failed")

	r.setAnswer(respondWithStatus(http.StatusOK))
	s.Bind(first)
	second := s.Quote("rain-excess", nil)
	s.relayEvents()
	s.sendDue(job)
	s.sendDue(job)
	require.Equal(t, []string{created, "quote.created " + second.ID}, r.receivedEvents(t), "the other subject does not wait")
	s.AdvanceClock(10 * time.Second)
	s.sendDue(job)
	s.sendDue(job)
	require.Equal(t, []string{created, "quote.created " + second.ID, created, bound}, r.receivedEvents(t))
}

// An endpoint that sent Retry-After receives no retry of another delivery either, of the
// same batch or of an earlier one, until the pause is over.
func TestRetryAfterPostponesRetriesOfOtherDeliveries(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(http.StatusInternalServerError))
	endpoint := s.createEndpoint(r, "quote.created")
	s.Quote("rain-excess", nil)
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	s.sendDue(job)
	require.Len(t, r.allReceived(), 1, "it failed and is due again in seconds")

	var calls atomic.Int64
	r.setAnswer(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "3600")
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s.Quote("rain-excess", nil)
	s.Quote("rain-excess", nil)
	s.relayEvents()
	s.sendDue(job)
	require.Len(t, r.allReceived(), 3, "one of both asked for an hour")
	r.setAnswer(respondWithStatus(http.StatusOK))
	s.AdvanceClock(59 * time.Minute)
	s.sendDue(job)
	require.Len(t, r.allReceived(), 3, "nothing is sent within the hour")
	s.AdvanceClock(time.Minute)
	s.sendDue(job)
	require.Equal(t, 3, s.countRows("deliveries where status = 'delivered'"))
}

// A delivery that a partner retries by hand is sent at once, because the partner knows
// that the receiver is ready.
func TestRetryByHandDoesNotWaitForRetryAfter(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	endpoint := s.createEndpoint(r, "quote.created")
	s.Quote("rain-excess", nil)
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	s.sendDue(job)
	r.setAnswer(respondWithStatus(http.StatusOK))
	_, err := s.Service.Webhooks.RetryDelivery(t.Context(), s.Acme, s.listDeliveries(endpoint)[0].ID)
	require.NoError(t, err)
	s.sendDue(job)
	require.Equal(t, "delivered", s.listDeliveries(endpoint)[0].Status)
}

// The rest of a batch is not sent again at once when the endpoint stops answering: it
// waits for the probe of the endpoint.
func TestUnsentEventsOfAFailingEndpointWaitForItsProbe(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(http.StatusInternalServerError))
	endpoint := s.createEndpoint(r, "quote.created")
	const quotes = maxConcurrentSends + maxFailuresWithoutSuccess + 8 // more than can be in flight when the batch ends early
	for range quotes {
		s.Quote("rain-excess", nil)
	}
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	s.sendDue(job)
	sent := len(r.allReceived())
	require.GreaterOrEqual(t, sent, maxFailuresWithoutSuccess)
	require.Less(t, sent, quotes)
	s.sendDue(job)
	require.Len(t, r.allReceived(), sent, "nothing is due yet")
	require.Equal(t, quotes-sent, s.countRows("deliveries d, webhook_progress p where d.attempts::text = '[]' and d.next_attempt_at = p.next_probe_at"))
}
