package jobs

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// countHeldDeliveries returns the present delivery run of an endpoint, from its job.
func (s *fixture) countHeldDeliveries(endpoint *wire.WebhookEndpoint) webhooks.DeliverEndpoint {
	s.t.Helper()
	job := webhooks.DeliverEndpoint{Partner: "acme", Endpoint: endpoint.ID}
	require.NoError(s.t, s.pool.QueryRow(s.t.Context(), "select lease_id::text from webhook_progress").Scan(&job.LeaseID))
	return job
}

// relayEvents numbers events without workers.
func (s *fixture) relayEvents() {
	s.t.Helper()
	for n := 1; n > 0; {
		var err error
		n, err = s.Service.Events.Relay(s.t.Context())
		require.NoError(s.t, err)
	}
}

// sends makes the attempts of a batch, like a delivery run that has enough time.
func (s *fixture) sends(batch *webhooks.DeliveryBatch) []webhooks.AttemptResult {
	worker := &deliverEndpoint{service: s.Service, sender: s.newSender()}
	return worker.sendBatch(s.t.Context(), batch, func() bool { return true })
}

// keeps saves the results of a batch.
func (s *fixture) keeps(job webhooks.DeliverEndpoint, batch *webhooks.DeliveryBatch, sent []webhooks.AttemptResult) {
	s.t.Helper()
	_, err := s.Service.Webhooks.SaveBatch(s.t.Context(), job, batch, sent)
	require.NoError(s.t, err)
}

func TestDeadDeliveryRunIsRepeated(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(200))
	endpoint := s.createEndpoint(r, "quote.created")
	s.Quote("rain-excess", nil)
	s.relayEvents()
	dead := s.countHeldDeliveries(endpoint)
	batch, err := s.Service.Webhooks.FetchBatch(t.Context(), dead)
	require.NoError(t, err)
	sent := s.sends(batch)
	require.Len(t, r.allReceived(), 1, "it was sent, and not kept")
	s.execSQL("delete from river.river_job")
	s.AdvanceClock(time.Minute + time.Second)
	s.startWorkers()
	s.requireEventually(func() bool { return len(s.listDeliveries(endpoint)) == 1 }, "another takes over")
	require.Len(t, r.allReceived(), 2)
	require.Equal(t, r.allReceived()[0].header.Get("webhook-id"), r.allReceived()[1].header.Get("webhook-id"), "by which a receiver knows it")
	kept, err := s.Service.Webhooks.SaveBatch(t.Context(), dead, batch, sent)
	require.NoError(t, err)
	require.False(t, kept)
	require.Len(t, s.listDeliveries(endpoint), 1, "what came too late is not kept")
	holds, err := s.Service.Webhooks.RenewLease(t.Context(), dead)
	require.NoError(t, err)
	require.False(t, holds)
}

// A delivery run whose time is over saves its results; the next run sends the rest, and
// nothing is sent twice.
func TestExpiredDeliveryRunSavesItsAttempts(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(200))
	endpoint := s.createEndpoint(r, "quote.created")
	const quotes = 12
	for range quotes {
		s.Quote("rain-excess", nil)
	}
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	batch, err := s.Service.Webhooks.FetchBatch(t.Context(), job)
	require.NoError(t, err)
	var begun atomic.Int64
	worker := &deliverEndpoint{service: s.Service, sender: s.newSender()}
	s.keeps(job, batch, worker.sendBatch(t.Context(), batch, func() bool { return begun.Add(1) <= 5 }))
	require.Len(t, r.allReceived(), 5)
	require.Equal(t, 5, s.countRows("deliveries where status = 'delivered'"))
	s.startWorkers()
	s.requireEventually(func() bool { return s.countRows("deliveries where status = 'delivered'") == quotes }, "the others follow")
	require.Len(t, r.allReceived(), quotes)
}

func TestDisabledEndpointReceivesNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(200))
	endpoint := s.createEndpoint(r)
	s.Quote("rain-excess", nil)
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	batch, err := s.Service.Webhooks.FetchBatch(t.Context(), job)
	require.NoError(t, err)
	require.Len(t, batch.Items, 2)
	require.NoError(t, s.Service.Webhooks.DeleteEndpoint(t.Context(), s.Acme, endpoint.ID))
	holds, err := s.Service.Webhooks.RenewLease(t.Context(), job)
	require.NoError(t, err)
	require.False(t, holds)
	s.keeps(job, batch, nil)
	again, err := s.Service.Webhooks.FetchBatch(t.Context(), job)
	require.NoError(t, err)
	require.Nil(t, again)
	more, err := s.Service.Webhooks.EndDelivery(t.Context(), job, true)
	require.NoError(t, err)
	require.False(t, more)
}

// A late response of an earlier address has no effect on the new one, and its events are
// sent to the new one.
func TestResultOfFormerAddressIsIgnored(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	old, healthy := newReceiver(t, respondWithStatus(http.StatusGone)), newReceiver(t, respondWithStatus(200))
	endpoint := s.createEndpoint(old, "quote.created")
	s.Quote("rain-excess", nil)
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	batch, err := s.Service.Webhooks.FetchBatch(t.Context(), job)
	require.NoError(t, err)
	sent := s.sends(batch)
	require.True(t, sent[0].Gone)
	change := func(url string) {
		t.Helper()
		_, err := s.Service.Webhooks.ChangeEndpoint(t.Context(), s.Acme, endpoint.ID, webhooks.EndpointRequest{URL: &url})
		require.NoError(t, err)
	}
	change(old.URL)
	held, err := s.Service.Webhooks.RenewLease(t.Context(), job)
	require.NoError(t, err)
	require.True(t, held, "the same address again takes nothing back")
	change(healthy.URL)
	s.keeps(job, batch, sent)
	require.Zero(t, s.countRows("deliveries"))
	s.startWorkers()
	s.requireEventually(func() bool { return s.countRows("deliveries where status = 'delivered'") == 1 }, "the new address has it")
	require.Len(t, healthy.allReceived(), 1)
	require.Equal(t, 1, s.countRows("webhook_endpoints where status = 'enabled' and disabled_reason is null"))
}

// An endpoint whose address changes just after the result was saved is not disabled
// because of the old address.
func TestOnlyTheAddressThatAnsweredIsDisabled(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	endpoint := s.createEndpoint(newReceiver(t, respondWithStatus(http.StatusGone)), "quote.created")
	s.Quote("rain-excess", nil)
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	batch, err := s.Service.Webhooks.FetchBatch(t.Context(), job)
	require.NoError(t, err)
	sent := s.sends(batch)
	batch.URL = "https://former.example.com/"
	s.keeps(job, batch, sent)
	require.Equal(t, 1, s.countRows("webhook_endpoints where status = 'enabled'"))
}

func TestRotationSignsTwiceForADay(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(200))
	endpoint := s.createEndpoint(r, "quote.created")
	rotated, err := s.Service.Webhooks.RotateSecret(t.Context(), s.Acme, endpoint.ID)
	require.NoError(t, err)
	_, err = s.Service.Webhooks.RotateSecret(t.Context(), s.Acme, endpoint.ID)
	require.ErrorContains(t, err, "signs until", "otherwise the signing key is unknown")
	s.startWorkers()
	verified := func(secret *string) bool {
		judge, err := standardwebhooks.NewWebhook(*secret)
		require.NoError(t, err)
		last := r.allReceived()[len(r.allReceived())-1]
		return judge.Verify([]byte(last.body), last.header) == nil
	}
	for sent, signatures := range []int{2, 1} {
		s.Quote("rain-excess", nil)
		s.requireEventually(func() bool { return len(r.allReceived()) == sent+1 }, "it arrives")
		require.Len(t, strings.Fields(r.allReceived()[sent].header.Get("webhook-signature")), signatures)
		require.True(t, verified(rotated.Secret))
		require.Equal(t, signatures == 2, verified(endpoint.Secret))
		s.AdvanceClock(24 * time.Hour)
	}
	_, err = s.Service.Webhooks.RotateSecret(t.Context(), s.Acme, endpoint.ID)
	require.NoError(t, err, "the day is over")
}

// failDeliveries makes an endpoint's pending deliveries fail, and returns the sequences.
func (s *fixture) failDeliveries() []int64 {
	s.t.Helper()
	s.waitUntilIdle()
	s.execSQL("update deliveries set status = 'failed', attempts_in_round = 10, next_attempt_at = null")
	s.AdvanceClock(5 * time.Minute) // the endpoint may be tried again
	rows, err := s.pool.Query(s.t.Context(), "select sequence from deliveries order by sequence")
	require.NoError(s.t, err)
	sequences, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(s.t, err)
	return sequences
}

// Failed deliveries are sent again on request: one, a range, or all, each time only
// failed ones; at an ordered endpoint the events of one record keep their order.
func TestFailedDeliveriesCanBeRetried(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(500))
	endpoint, err := s.Service.Webhooks.CreateEndpoint(t.Context(), s.Acme, webhooks.EndpointRequest{
		URL: &r.URL, EventTypes: []string{"quote.created", "quote.bound"}, Ordered: new(true),
	})
	require.NoError(t, err)
	for range 4 {
		s.QuoteAndBind("rain-excess", nil)
	}
	s.startWorkers()
	s.requireEventually(func() bool { return len(s.listDeliveries(endpoint)) == 8 }, "all are kept")
	sequences := s.failDeliveries()
	r.setAnswer(respondWithStatus(200))
	failed, sent := len(r.allReceived()), 0
	becomes := func(n int, says string) {
		t.Helper()
		sent += n
		s.requireEventually(func() bool { return s.countRows("deliveries where status = 'delivered'") == sent }, says)
		s.waitUntilIdle()
		require.Len(t, r.allReceived(), failed+sent, says)
		require.Equal(t, len(sequences)-sent, s.countRows("deliveries where status = 'failed' and attempts_in_round = 10 and next_attempt_at is null"), "the others wait as before")
	}
	_, err = s.Service.Webhooks.RetryDelivery(t.Context(), s.Acme, s.listDeliveries(endpoint)[7].ID) // the oldest
	require.NoError(t, err)
	becomes(1, "one")
	retried, err := s.Service.Webhooks.RetryFailed(t.Context(), s.Acme, endpoint.ID, &sequences[0], &sequences[3])
	require.NoError(t, err)
	require.Equal(t, 3, retried.Count, "the first of the range is delivered already")
	becomes(3, "the range")
	retried, err = s.Service.Webhooks.RetryFailed(t.Context(), s.Acme, endpoint.ID, nil, nil)
	require.NoError(t, err)
	require.Equal(t, 4, retried.Count)
	becomes(4, "everything")
	retried, err = s.Service.Webhooks.RetryFailed(t.Context(), s.Acme, endpoint.ID, nil, nil)
	require.NoError(t, err)
	require.Zero(t, retried.Count)
	last := map[string]int64{}
	for _, got := range r.allReceived()[failed:] {
		var event wire.Event
		require.NoError(t, wire.Decode([]byte(got.body), &event))
		require.Greater(t, event.Sequence, last[event.Subject.ID])
		last[event.Subject.ID] = event.Sequence
	}
	require.Len(t, last, 4)
}

// Sent events can be read for 30 days; pending ones stay.
func TestHistoryIsKeptForThirtyDays(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(200))
	endpoint := s.createEndpoint(r, "quote.created")
	workers := s.startWorkers()
	for range 3 {
		s.Quote("rain-excess", nil)
	}
	s.requireEventually(func() bool { return s.countRows("deliveries where status = 'delivered'") == 3 }, "all are sent")
	require.NoError(t, workers.Stop(t.Context())) // otherwise they would sweep and send meanwhile
	s.execSQL("update deliveries set status = 'failed' where sequence = (select min(sequence) from deliveries)")
	s.execSQL("update deliveries set status = 'pending', next_attempt_at = now() + interval '1 year' where sequence = (select max(sequence) from deliveries)")
	s.AdvanceClock(30*24*time.Hour - time.Hour)
	s.Sweep()
	require.Len(t, s.listDeliveries(endpoint), 3)
	s.AdvanceClock(2 * time.Hour)
	s.Sweep()
	left := s.listDeliveries(endpoint)
	require.Len(t, left, 1)
	require.Equal(t, "pending", left[0].Status)
	feed, err := s.Service.Events.List(t.Context(), s.Acme, events.Filter{Types: []event.Type{event.QuoteCreated}}, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, feed.Data, 3, "events stay for ever")
}

// An endpoint that sent Retry-After receives nothing until the pause is over, not even
// new events, and everything afterwards.
func TestRetryAfterHoldsNewEventsToo(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	endpoint := s.createEndpoint(r, "quote.created")
	s.startWorkers()
	s.Quote("rain-excess", nil)
	s.requireEventually(func() bool { return len(s.listDeliveries(endpoint)) == 1 }, "it asks")
	s.Quote("rain-excess", nil)
	s.requireEventually(func() bool { return s.countRows("event_outbox") == 0 }, "the second has its number")
	s.waitUntilIdle()
	require.Len(t, r.allReceived(), 1)
	r.setAnswer(respondWithStatus(200))
	s.AdvanceClock(61 * time.Minute)
	s.requireEventually(func() bool { return s.countRows("deliveries where status = 'delivered'") == 2 }, "the hour is over")
}

// The pause also applies if the endpoint accepted other events of the same batch before.
func TestRetryAfterAppliesDespiteSuccesses(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var calls atomic.Int64
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	endpoint := s.createEndpoint(r, "quote.created")
	for range 3 {
		s.Quote("rain-excess", nil)
	}
	s.relayEvents()
	job := s.countHeldDeliveries(endpoint)
	batch, err := s.Service.Webhooks.FetchBatch(t.Context(), job)
	require.NoError(t, err)
	s.keeps(job, batch, s.sends(batch))
	require.Equal(t, 2, s.countRows("deliveries where status = 'delivered'"))
	require.Equal(t, 1, s.countRows("webhook_progress where batch_limit = 128"))
	s.startWorkers()
	s.Quote("rain-excess", nil)
	s.requireEventually(func() bool { return s.countRows("event_outbox") == 0 }, "the fourth has its number")
	s.waitUntilIdle()
	require.Len(t, r.allReceived(), 3)
	s.AdvanceClock(61 * time.Minute)
	s.requireEventually(func() bool { return s.countRows("deliveries where status = 'delivered'") == 4 }, "the hour is over")
}
