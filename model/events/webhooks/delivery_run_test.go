package webhooks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// saveResult saves the same result for every item of a batch.
func saveResult(t *testing.T, b *modeltest.Bundle, job webhooks.DeliverEndpoint, batch *webhooks.DeliveryBatch, result webhooks.AttemptResult) {
	t.Helper()
	sent := make([]webhooks.AttemptResult, len(batch.Items))
	for i := range sent {
		sent[i] = result
		sent[i].Outgoing, sent[i].Attempt = batch.Items[i], &wire.Attempt{At: b.Now(), Answer: "x"}
	}
	kept, err := b.Service.Webhooks.SaveBatch(t.Context(), job, batch, sent)
	require.NoError(t, err)
	require.True(t, kept)
}

// startDue starts the due runs and returns how many there were.
func startDue(t *testing.T, b *modeltest.Bundle) int {
	t.Helper()
	return modeltest.Must(b.Service.Webhooks.StartDeliveries(t.Context()))
}

// end ends a run and returns whether more is due.
func end(t *testing.T, b *modeltest.Bundle, job webhooks.DeliverEndpoint, handOver bool) bool {
	t.Helper()
	return modeltest.Must(b.Service.Webhooks.EndDelivery(t.Context(), job, handOver))
}

func TestPauseOfTheReceiverAppliesToEveryEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newEndpoint(t, b, webhooks.EndpointRequest{})
	b.Quote("rain-excess", nil)
	b.Relay()
	job := lastRun(t, b)
	saveResult(t, b, job, fetch(t, b, job), webhooks.AttemptResult{RetryAfter: time.Hour})
	b.Quote("rain-excess", nil)
	b.AdvanceClock(59 * time.Minute)
	require.Nil(t, fetch(t, b, job), "neither the retries nor the new event")
	require.False(t, end(t, b, job, false))
	require.Zero(t, startDue(t, b))
	b.AdvanceClock(2 * time.Minute)
	require.Equal(t, 1, startDue(t, b))
	job = lastRun(t, b)
	require.True(t, job.Failing)
	saveResult(t, b, job, fetch(t, b, job), webhooks.AttemptResult{Delivered: true})
}

func TestGoneEndpointIsDisabledWithTheReason(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := newEndpoint(t, b, webhooks.EndpointRequest{})
	job := lastRun(t, b)
	batch := fetch(t, b, job)
	batch.URL = "https://example.com/former"
	saveResult(t, b, job, batch, webhooks.AttemptResult{Gone: true})
	read := func() *wire.WebhookEndpoint {
		return modeltest.Must(b.Service.Webhooks.GetEndpoint(t.Context(), b.Acme, endpoint.ID))
	}
	require.Equal(t, "enabled", read().Status, "the answer came from the former address")
	b.AdvanceClock(10 * time.Second)
	saveResult(t, b, job, fetch(t, b, job), webhooks.AttemptResult{Gone: true})
	require.Equal(t, "disabled", read().Status)
	require.Equal(t, "It answered 410 Gone.", *read().Note)
	require.Nil(t, fetch(t, b, job), "its run ends")
	b.Quote("rain-excess", nil)
	b.AdvanceClock(time.Hour)
	require.Zero(t, startDue(t, b))
	require.Contains(t, b.Events(), "webhook_endpoint.disabled")

	enabled := modeltest.Must(b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, endpoint.ID, webhooks.EndpointRequest{Status: new("enabled")}))
	require.Nil(t, enabled.Note)
	require.Equal(t, 1, startDue(t, b), "it continues where sending stopped")
	require.False(t, lastRun(t, b).Failing, "earlier failures no longer count")
}

func TestEndpointGetsEventsOfItsTypesFromItsCreationOn(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	b.QuoteAndBind("rain-excess", nil)
	b.Relay()
	newEndpoint(t, b, webhooks.EndpointRequest{EventTypes: []string{"quote.bound"}})
	b.Quote("rain-excess", nil)
	policy := b.QuoteAndBind("rain-excess", nil)
	b.ActingAs(b.Globex).QuoteAndBind("rain-excess", nil)
	b.Relay()
	job := lastRun(t, b)
	batch := fetch(t, b, job)
	require.Len(t, batch.Items, 1)
	require.Equal(t, "quote.bound", batch.Items[0].Event.Type)
	require.Contains(t, string(batch.Items[0].Body), policy.ID)
	save(t, b, job, batch, "d")
	b.Quote("rain-excess", nil)
	b.Relay()
	if batch = fetch(t, b, job); batch != nil { // only its cursor moves
		save(t, b, job, batch, "")
	}
	require.Nil(t, fetch(t, b, job))
	require.False(t, end(t, b, job, false))
}

func TestDeadRunIsReplacedWhenItsLeaseExpires(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newEndpoint(t, b, webhooks.EndpointRequest{})
	queued := lastRun(t, b)
	b.AdvanceClock(19 * time.Second)
	require.Zero(t, startDue(t, b), "a queued run has 20 seconds to start")
	require.NotNil(t, fetch(t, b, queued))
	b.AdvanceClock(9 * time.Second)
	require.Zero(t, startDue(t, b), "a working run has 10 seconds")
	require.True(t, modeltest.Must(b.Service.Webhooks.RenewLease(t.Context(), queued)))
	b.AdvanceClock(9 * time.Second)
	require.Zero(t, startDue(t, b))
	b.AdvanceClock(2 * time.Second)
	require.Equal(t, 1, startDue(t, b))
	require.Zero(t, startDue(t, b), "once")
	next := lastRun(t, b)
	require.NotEqual(t, queued.LeaseID, next.LeaseID)
	require.Nil(t, fetch(t, b, queued))
	require.False(t, modeltest.Must(b.Service.Webhooks.RenewLease(t.Context(), queued)))
	require.False(t, end(t, b, queued, true))
	save(t, b, next, fetch(t, b, next), "d")
}

func TestRunKeepsOrHandsOverWhatIsDue(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newEndpoint(t, b, webhooks.EndpointRequest{})
	job := lastRun(t, b)
	require.True(t, end(t, b, job, false), "its first event is due")
	require.Equal(t, job, lastRun(t, b))
	require.True(t, end(t, b, job, true))
	next := lastRun(t, b)
	require.NotEqual(t, job.LeaseID, next.LeaseID)
	require.Nil(t, fetch(t, b, job), "the former run holds no lease")
	require.False(t, next.Failing, "no attempt has failed")
	saveResult(t, b, next, fetch(t, b, next), webhooks.AttemptResult{})
	require.False(t, end(t, b, next, true))
	require.Equal(t, next, lastRun(t, b), "nothing is due before the next attempt")
	require.Zero(t, startDue(t, b))
	b.AdvanceClock(10 * time.Second)
	require.Equal(t, 1, startDue(t, b))
	save(t, b, lastRun(t, b), fetch(t, b, lastRun(t, b)), "d")
	require.False(t, end(t, b, lastRun(t, b), false))
	b.AdvanceClock(time.Hour)
	require.Zero(t, startDue(t, b))
	b.Quote("rain-excess", nil)
	b.Relay()
	require.NotNil(t, fetch(t, b, lastRun(t, b)), "the relay started a run")
}

func TestWaitingRunGetsTheNextEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newEndpoint(t, b, webhooks.EndpointRequest{})
	job := lastRun(t, b)
	wait := func(limit time.Duration) *webhooks.DeliveryBatch {
		return modeltest.Must(b.Service.Webhooks.WaitForBatch(t.Context(), job, limit))
	}
	save(t, b, job, wait(time.Minute), "d")
	require.Nil(t, wait(time.Millisecond))
	b.Quote("rain-excess", nil)
	b.Relay()
	batch := wait(time.Minute)
	require.Len(t, batch.Items, 1)
	save(t, b, job, batch, "d")
	for _, wrong := range []string{"", "quo_01kajw6p5qfn1t7zbjy0yse3hv"} {
		_, err := b.Service.Webhooks.FetchBatch(t.Context(), webhooks.DeliverEndpoint{Partner: "acme", Endpoint: wrong, LeaseID: job.LeaseID})
		require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	}
}

func TestFailingEndpointGetsOneNewEventPerProbe(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newEndpoint(t, b, webhooks.EndpointRequest{EventTypes: []string{"quote.created"}})
	for range webhooks.FailingAfter {
		b.Quote("rain-excess", nil)
	}
	b.Relay()
	job := lastRun(t, b)
	saveResult(t, b, job, fetch(t, b, job), webhooks.AttemptResult{})
	b.Quote("rain-excess", nil)
	b.Quote("rain-excess", nil)
	b.Relay()
	require.Nil(t, fetch(t, b, job), "new events wait for the probe")
	modeltest.ExecSQL(t, b, "update deliveries set next_attempt_at = next_attempt_at + interval '1 hour'")
	b.AdvanceClock(10 * time.Second)
	batch := fetch(t, b, job)
	require.Len(t, batch.Items, 1)
	save(t, b, job, batch, "d")
	batch = fetch(t, b, job)
	require.Len(t, batch.Items, 1, "the other one, now that it works")
	save(t, b, job, batch, "d")
	require.Equal(t, "pending", modeltest.Must(b.Service.Webhooks.DeliveriesOf("pending")(t.Context(), b.Acme, []string{job.Endpoint}, store.PageRequest{}))[job.Endpoint].Data[0].Status)
}
