package jobs

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// receiver is a partner's server: it records requests and answers as configured.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	got    []received
	answer http.HandlerFunc
}

type received struct {
	header http.Header
	body   string
}

func newReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.got = append(r.got, received{request.Header, string(body)})
		say := r.answer
		r.mu.Unlock()
		say(w, request)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) allReceived() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]received{}, r.got...)
}

func (r *receiver) setAnswer(answer http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func respondWithStatus(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func (s *fixture) createEndpoint(r *receiver, types ...string) *wire.WebhookEndpoint {
	s.t.Helper()
	endpoint, err := s.Service.Webhooks.CreateEndpoint(s.t.Context(), s.Acme, webhooks.EndpointRequest{URL: &r.URL, EventTypes: types})
	require.NoError(s.t, err)
	return endpoint
}

func (s *fixture) listDeliveries(endpoint *wire.WebhookEndpoint) []wire.Delivery {
	s.t.Helper()
	list, err := s.Service.Webhooks.ListDeliveries(s.t.Context(), s.Acme, endpoint.ID, "", store.PageRequest{Limit: 100})
	require.NoError(s.t, err)
	return list.Data
}

func TestAnEventReachesItsEndpointAsTheFeedShowsIt(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(http.StatusNoContent))
	endpoint := s.createEndpoint(r, "quote.created")
	s.startWorkers()
	s.Quote("rain-excess", nil)
	s.requireEventually(func() bool { return len(r.allReceived()) == 1 }, "the event arrives")
	s.requireEventually(func() bool { return len(s.listDeliveries(endpoint)) == 1 }, "the delivery is kept")

	feed, err := s.Service.Events.List(t.Context(), s.Acme, events.Filter{Types: []event.Type{"quote.created"}}, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, feed.Data, 1)
	body, err := wire.Encode(feed.Data[0])
	require.NoError(t, err)
	got := r.allReceived()[0]
	require.Equal(t, string(body), got.body)
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(*endpoint.Secret, "whsec_"))
	require.NoError(t, err)
	require.Len(t, secret, 32)
	judge, err := standardwebhooks.NewWebhook(*endpoint.Secret)
	require.NoError(t, err)
	require.NoError(t, judge.Verify([]byte(got.body), got.header), "the specification's own library agrees")

	delivery := s.listDeliveries(endpoint)[0]
	require.Equal(t, "delivered", delivery.Status)
	require.Equal(t, feed.Data[0].ID, delivery.EventID)
	require.Len(t, delivery.Attempts, 1)
	require.Equal(t, http.StatusNoContent, *delivery.Attempts[0].StatusCode)
	require.Nil(t, delivery.NextAttemptAt)
}

func TestDeliveryFailsAfterAllScheduledRetries(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "we are closed", http.StatusInternalServerError)
	})
	endpoint := s.createEndpoint(r, "quote.created")
	s.startWorkers()
	s.Quote("rain-excess", nil)
	for tries := 1; tries <= 10; tries++ {
		s.requireEventually(func() bool { d := s.listDeliveries(endpoint); return len(d) == 1 && len(d[0].Attempts) == tries }, "the next attempt")
		delivery := s.listDeliveries(endpoint)[0]
		if tries == 10 {
			break
		}
		wait, want := delivery.NextAttemptAt.Sub(delivery.UpdatedAt), webhooks.DeliverySchedule()[tries-1]
		require.InDelta(t, want.Seconds(), wait.Seconds(), 0.2*want.Seconds(), "after attempt %d", tries)
		s.AdvanceClock(wait)
	}
	failed := s.listDeliveries(endpoint)[0]
	require.Equal(t, "failed", failed.Status)
	require.Equal(t, "we are closed\n", failed.Attempts[9].Answer)

	r.setAnswer(respondWithStatus(http.StatusOK))
	_, err := s.Service.Webhooks.RetryDelivery(t.Context(), s.Acme, failed.ID)
	require.NoError(t, err)
	s.requireEventually(func() bool { return s.listDeliveries(endpoint)[0].Status == "delivered" }, "by hand it goes through")
}

func TestEndpointAnswering410IsDisabled(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(http.StatusGone))
	endpoint := s.createEndpoint(r)
	s.startWorkers()
	s.requireEventually(func() bool {
		now, err := s.Service.Webhooks.GetEndpoint(t.Context(), s.Acme, endpoint.ID)
		return err == nil && now.Status == "disabled" && now.Note != nil
	}, "410 disables")
	_, err := s.Service.Webhooks.TestEndpoint(t.Context(), s.Acme, endpoint.ID)
	require.Equal(t, apperr.CodeStateConflict, apperr.CodeOf(err))
	s.Quote("rain-excess", nil)
	r.setAnswer(respondWithStatus(http.StatusOK))
	_, err = s.Service.Webhooks.ChangeEndpoint(t.Context(), s.Acme, endpoint.ID, webhooks.EndpointRequest{Status: new("enabled")})
	require.NoError(t, err)
	s.requireEventually(func() bool { // nothing was lost: the disabling, the quote and the enabling arrive
		types := 0
		for _, d := range s.listDeliveries(endpoint) {
			if d.Status == "delivered" {
				types++
			}
		}
		return types >= 3
	}, "it goes on where it stopped")
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	})
	endpoint := s.createEndpoint(r, "quote.created")
	s.startWorkers()
	s.Quote("rain-excess", nil)
	s.requireEventually(func() bool { return len(s.listDeliveries(endpoint)) == 1 }, "the attempt is kept")
	attempt := s.listDeliveries(endpoint)[0].Attempts[0]
	require.Equal(t, "redirect", *attempt.Error)
	require.Equal(t, http.StatusFound, *attempt.StatusCode)
}

func TestAnOrderedEndpointWaitsForTheEarlierEventOfASubject(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	var mu sync.Mutex
	refused := false
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !refused { // only the first request
			refused = true
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	endpoint, err := s.Service.Webhooks.CreateEndpoint(t.Context(), s.Acme, webhooks.EndpointRequest{
		URL: &r.URL, EventTypes: []string{"quote.created", "quote.bound"}, Ordered: new(true),
	})
	require.NoError(t, err)
	s.QuoteAndBind("rain-excess", nil)
	s.startWorkers()
	s.requireEventually(func() bool { return len(s.listDeliveries(endpoint)) == 2 }, "both are kept, one was sent")
	require.Len(t, r.allReceived(), 1)
	s.AdvanceClock(10 * time.Second)
	s.requireEventually(func() bool { return len(r.allReceived()) == 3 }, "both go out")
	var types []string
	for _, got := range r.allReceived() {
		types = append(types, got.body[strings.Index(got.body, `"type":"`)+8:][:12])
	}
	require.Equal(t, []string{"quote.create", "quote.create", `quote.bound"`}, types)
}
