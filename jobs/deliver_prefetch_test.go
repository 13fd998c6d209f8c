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

// times counts how often each sequence arrived.
func (r *receiver) times(t *testing.T) map[int64]int {
	t.Helper()
	times := make(map[int64]int)
	for _, got := range r.all() {
		var event wire.Event
		require.NoError(t, wire.Decode([]byte(got.body), &event))
		times[event.Sequence]++
	}
	return times
}

func TestABacklogArrivesOnceThoughOneOfItFails(t *testing.T) {
	t.Parallel()
	const backlog, bad = 1500, 700 // some batches before and behind
	s := openWith(t, atOnce, modeltest.Unchecked())
	var refused atomic.Bool
	r := receive(t, status(200))
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		if len(r.all()) >= bad && refused.CompareAndSwap(false, true) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s.endpoint(r, "quote.created")
	s.told(backlog)
	s.relayed()
	s.start()
	s.eventually(func() bool { return s.count("deliveries") == backlog }, "each was tried")
	s.eventually(func() bool { return s.count("webhook_progress where drain is null") == 1 }, "the drain ended")
	require.Len(t, r.times(t), backlog)
	require.Len(t, r.all(), backlog, "none twice")
	require.Equal(t, 1, s.count("deliveries where status = 'pending' and tries = 1"), "the one that failed waits")
	require.Equal(t, backlog-1, s.count("deliveries where status = 'delivered' and tries = 1"))
	s.After(time.Minute)
	_, err := s.Service.StartDrains(t.Context())
	require.NoError(t, err)
	s.eventually(func() bool { return s.count("deliveries where status = 'delivered'") == backlog }, "and is sent again")
	require.Len(t, r.all(), backlog+1)
	require.Equal(t, 1, s.count("webhook_progress where position = (select max(sequence) from event_numbers)"))
}

func TestWhatIsReadAheadIsWhatFollows(t *testing.T) {
	t.Parallel()
	s := openWith(t, atOnce, modeltest.Unchecked())
	r := receive(t, status(200))
	endpoint := s.endpoint(r, "quote.created")
	s.told(600)
	s.relayed()
	job := s.held(endpoint)
	first, err := s.Service.TakeBatch(t.Context(), job)
	require.NoError(t, err)
	require.Len(t, first.Items, 256)
	second, err := s.Service.ReadAhead(t.Context(), job, first)
	require.NoError(t, err)
	require.Equal(t, first.Position+1, second.Items[0].Event.Sequence)
	require.Equal(t, first.URL, second.URL)
	require.Equal(t, first.Secrets, second.Secrets)
	short, err := s.Service.ReadAhead(t.Context(), job, second)
	require.NoError(t, err)
	require.Nil(t, short, "less than a batch waits for the one before")

	r.answers(status(500))
	s.keeps(job, first, s.sends(first))
	third, err := s.Service.TakeBatch(t.Context(), job)
	require.NoError(t, err)
	require.Nil(t, third, "what failed waits for its probe")
	s.After(time.Minute)
	again, err := s.Service.ReadAhead(t.Context(), job, first)
	require.NoError(t, err)
	require.Nil(t, again, "what is due again goes first")
}

func TestAnEndpointThatIsLostIsSentNoMore(t *testing.T) {
	t.Parallel()
	const backlog = 2000
	s := openWith(t, atOnce, modeltest.Unchecked())
	r := receive(t, status(200))
	endpoint := s.endpoint(r, "quote.created")
	var deleted atomic.Bool
	r.answers(func(_ http.ResponseWriter, request *http.Request) {
		if len(r.all()) >= 300 && deleted.CompareAndSwap(false, true) { // in the second batch
			if err := s.Service.DeleteWebhookEndpoint(request.Context(), s.Acme, endpoint.ID); err != nil {
				t.Error(err)
			}
		}
	})
	s.told(backlog)
	s.relayed()
	s.start()
	s.eventually(func() bool {
		return s.count("river.river_job where kind = 'drain_endpoint' and finalized_at is not null") > 0
	}, "the drain ends")
	require.LessOrEqual(t, len(r.all()), 4*256, "the batch that was on its way and the one ahead of it")
}
