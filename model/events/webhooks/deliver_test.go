package webhooks_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/events/webhooks"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// newEndpoint creates an endpoint of acme and numbers its first event.
func newEndpoint(t *testing.T, b *modeltest.Bundle, in webhooks.EndpointRequest) *wire.WebhookEndpoint {
	t.Helper()
	in.URL = new("https://example.com/hooks")
	endpoint := modeltest.Must(b.Service.Webhooks.CreateEndpoint(t.Context(), b.Acme, in))
	b.Relay()
	return endpoint
}

// lastRun returns the delivery run that was started last.
func lastRun(t *testing.T, b *modeltest.Bundle) webhooks.DeliverEndpoint {
	t.Helper()
	var args string
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select args::text from modeltest_jobs where kind = 'deliver_endpoint' order by ordinal desc limit 1").Scan(&args))
	var job webhooks.DeliverEndpoint
	require.NoError(t, json.Unmarshal([]byte(args), &job))
	return job
}

// fetch returns the due batch of a run.
func fetch(t *testing.T, b *modeltest.Bundle, job webhooks.DeliverEndpoint) *webhooks.DeliveryBatch {
	t.Helper()
	return modeltest.Must(b.Service.Webhooks.FetchBatch(t.Context(), job))
}

// save saves a batch: a letter for each item says whether it was delivered (d), failed (f)
// or not sent (n).
func save(t *testing.T, b *modeltest.Bundle, job webhooks.DeliverEndpoint, batch *webhooks.DeliveryBatch, results string) {
	t.Helper()
	require.NotNil(t, batch, "something is due")
	require.Len(t, batch.Items, len(results))
	sent := make([]webhooks.AttemptResult, len(results))
	for i, result := range results {
		sent[i] = webhooks.AttemptResult{Outgoing: batch.Items[i], Delivered: result == 'd'}
		if result != 'n' {
			sent[i].Attempt = &wire.Attempt{At: b.Now(), StatusCode: new(map[rune]int{'d': 200, 'f': 500}[result]), DurationMS: 38, Answer: string(result)}
		}
	}
	kept, err := b.Service.Webhooks.SaveBatch(t.Context(), job, batch, sent)
	require.NoError(t, err)
	require.True(t, kept)
}

// stored is a delivery as its table has it.
type stored struct {
	Status   string
	Round    int
	Answers  string // of all attempts
	Wait     *float64
	Version  int
	OfEvent  bool // sequence and subject are those of the event
	Sequence int64
}

// storedDeliveries returns the deliveries in the order of their events.
func storedDeliveries(t *testing.T, b *modeltest.Bundle) (all []stored) {
	t.Helper()
	require.NoError(t, b.Service.Partners.DB.NewRaw(`select d.status, d.attempts_in_round as round, d.version, d.sequence,
		(select coalesce(string_agg(a ->> 'answer', '' order by n), '') from json_array_elements(d.attempts) with ordinality as of (a, n)) as answers,
		extract(epoch from d.next_attempt_at - d.updated_at)::float8 as wait, n.sequence = d.sequence and e.subject_id = d.subject_id as of_event
		from deliveries d join events e on e.id = d.event_id and e.partner = d.partner join event_sequence n on n.event_id = e.id and n.partner = e.partner
		order by d.sequence`).Scan(t.Context(), &all))
	return all
}

func TestSavedDeliveriesHaveTheValuesOfTheirEvents(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newEndpoint(t, b, webhooks.EndpointRequest{})
	b.Quote("rain-excess", nil)
	b.Quote("quake-circle", nil)
	b.Relay()
	job := lastRun(t, b)
	batch := fetch(t, b, job)
	require.Equal(t, []string{"webhook_endpoint.enabled", "quote.created", "quote.created"}, []string{batch.Items[0].Event.Type, batch.Items[1].Event.Type, batch.Items[2].Event.Type})
	save(t, b, job, batch, "dfn")
	all := storedDeliveries(t, b)
	require.Len(t, all, 3)
	require.InEpsilon(t, 5, *all[1].Wait, 0.21, "the first delay, varied by a fifth")
	for i, want := range []stored{
		{Status: "delivered", Round: 1, Answers: "d", Version: 1, Sequence: 1},
		{Status: "pending", Round: 1, Answers: "f", Version: 1, Sequence: 2, Wait: all[1].Wait},
		{Status: "pending", Round: 0, Answers: "", Version: 1, Sequence: 3, Wait: new(0.0)},
	} {
		want.OfEvent = true
		require.Equal(t, want, all[i])
	}

	b.AdvanceClock(10 * time.Second)
	batch = fetch(t, b, job)
	require.Equal(t, []int64{2, 3}, []int64{batch.Items[0].Event.Sequence, batch.Items[1].Event.Sequence})
	save(t, b, job, batch, "df")
	again := storedDeliveries(t, b)
	require.Equal(t, all[0], again[0], "a delivered event is not touched")
	require.Equal(t, stored{Status: "delivered", Round: 2, Answers: "fd", Version: 2, OfEvent: true, Sequence: 2}, again[1])
	require.Equal(t, stored{Status: "pending", Round: 1, Answers: "f", Version: 2, OfEvent: true, Sequence: 3, Wait: again[2].Wait}, again[2])
	require.Nil(t, fetch(t, b, job), "the next attempt is not due")
}

func TestDeliveryFailsAfterTheWholeScheduleAndIsRetriedOnRequest(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := newEndpoint(t, b, webhooks.EndpointRequest{})
	job := lastRun(t, b)
	for _, wait := range webhooks.DeliverySchedule() {
		save(t, b, job, fetch(t, b, job), "f")
		require.Equal(t, "pending", storedDeliveries(t, b)[0].Status)
		b.AdvanceClock(wait * 5 / 4) // beyond the variation of a fifth
	}
	save(t, b, job, fetch(t, b, job), "f")
	failed := storedDeliveries(t, b)[0]
	require.Equal(t, stored{Status: "failed", Round: 10, Answers: "ffffffffff", Version: 10, OfEvent: true, Sequence: 1}, failed)

	_, err := b.Service.Webhooks.RetryFailed(t.Context(), b.Globex, endpoint.ID, nil, nil)
	require.Equal(t, apperr.CodeNotFound, apperr.CodeOf(err))
	require.Zero(t, modeltest.Must(b.Service.Webhooks.RetryFailed(t.Context(), b.Acme, endpoint.ID, new(int64(2)), nil)).Count)
	require.Zero(t, modeltest.Must(b.Service.Webhooks.RetryFailed(t.Context(), b.Acme, endpoint.ID, nil, new(int64(0)))).Count)
	require.Equal(t, 1, modeltest.Must(b.Service.Webhooks.RetryFailed(t.Context(), b.Acme, endpoint.ID, new(int64(1)), new(int64(1)))).Count)
	require.Zero(t, storedDeliveries(t, b)[0].Round, "the whole schedule again")
	save(t, b, lastRun(t, b), fetch(t, b, lastRun(t, b)), "d")
	page := modeltest.Must(b.Service.Webhooks.ListDeliveries(t.Context(), b.Acme, endpoint.ID, "delivered", store.PageRequest{}))
	require.Len(t, page.Data, 1)
	require.Len(t, page.Data[0].Attempts, 11)
	require.Empty(t, modeltest.Must(b.Service.Webhooks.ListDeliveries(t.Context(), b.Acme, endpoint.ID, "failed", store.PageRequest{})).Data)
	_, err = b.Service.Webhooks.ListDeliveries(t.Context(), b.Acme, endpoint.ID, "lost", store.PageRequest{})
	require.Equal(t, apperr.CodeParameterInvalid, apperr.CodeOf(err))
}

func TestOrderedEndpointBlocksLaterEventsOfASubject(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	newEndpoint(t, b, webhooks.EndpointRequest{Ordered: new(true), EventTypes: []string{"quote.created", "quote.bound"}})
	policy := b.QuoteAndBind("rain-excess", nil)
	b.Quote("rain-excess", nil)
	b.Relay()
	job := lastRun(t, b)
	batch := fetch(t, b, job)
	require.Equal(t, [][]int{{0, 1}, {2}}, batch.ParallelGroups(), "the policy's quote, then another")
	save(t, b, job, batch, "fnd")
	b.AdvanceClock(10 * time.Second)
	batch = fetch(t, b, job)
	require.Len(t, batch.Items, 1, "quote.bound waits for quote.created")
	require.Equal(t, "quote.created", batch.Items[0].Event.Type)
	save(t, b, job, batch, "d")
	batch = fetch(t, b, job)
	require.Len(t, batch.Items, 1)
	require.Equal(t, "quote.bound", batch.Items[0].Event.Type)
	require.Contains(t, string(batch.Items[0].Body), policy.QuoteID)
}

func TestRunWithoutItsLeaseSavesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	endpoint := newEndpoint(t, b, webhooks.EndpointRequest{})
	job := lastRun(t, b)
	batch := fetch(t, b, job)
	modeltest.Must(b.Service.Webhooks.ChangeEndpoint(t.Context(), b.Acme, endpoint.ID, webhooks.EndpointRequest{URL: new("https://example.com/other")}))
	kept, err := b.Service.Webhooks.SaveBatch(t.Context(), job, batch, []webhooks.AttemptResult{{Outgoing: batch.Items[0], Delivered: true, Attempt: &wire.Attempt{}}})
	require.NoError(t, err)
	require.False(t, kept, "the run of the former address")
	require.Empty(t, storedDeliveries(t, b))
	require.Nil(t, fetch(t, b, job))
	require.False(t, modeltest.Must(b.Service.Webhooks.RenewLease(t.Context(), job)))
	require.Equal(t, 1, modeltest.Must(b.Service.Webhooks.StartDeliveries(t.Context())))
	renewed := lastRun(t, b)
	require.True(t, modeltest.Must(b.Service.Webhooks.RenewLease(t.Context(), renewed)))
	batch = fetch(t, b, renewed)
	require.Equal(t, "https://example.com/other", batch.URL)
	save(t, b, renewed, batch, "d")
	require.False(t, modeltest.Must(b.Service.Webhooks.EndDelivery(t.Context(), renewed, false)))
	require.False(t, modeltest.Must(b.Service.Webhooks.RenewLease(t.Context(), renewed)), "it has ended")
}
