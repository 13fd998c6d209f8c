package jobs

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/egress"
	"parapet/jobs/webhook"
	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// receiverCase is a receiver's behaviour at its first delivery, and the result that the
// partner reads.
type receiverCase struct {
	answer    http.HandlerFunc
	delivered bool
	status    int           // 0 for no response
	why       string        // the attempt's error
	next      time.Duration // the shortest delay until the next attempt
}

func (s *fixture) receiverCases(release <-chan struct{}) map[string]receiverCase {
	after := func(value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	const soon = 4 * time.Second // five, less jitter
	return map[string]receiverCase{
		"200": {answer: respondWithStatus(200), delivered: true, status: 200},
		"500": {answer: respondWithStatus(500), status: 500, next: soon},
		"slow": {delivered: true, status: 200, answer: func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(100 * time.Millisecond):
				w.WriteHeader(http.StatusOK)
			case <-r.Context().Done():
			}
		}},
		"100 KiB": {delivered: true, status: 200, answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat("x", 100<<10)))
		}},
		"endless": {delivered: true, status: 200, answer: func(w http.ResponseWriter, _ *http.Request) {
			for line := []byte(strings.Repeat("x", 1<<10)); ; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}},
		"2xx without an end": {delivered: true, status: 202, answer: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}},
		"hangs before headers": {why: "timeout", next: soon, answer: func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}},
		"429 for an hour": {answer: after("3600"), status: 429, next: time.Hour},
		"429 until then":  {answer: after(time.Now().Add(2 * time.Hour).UTC().Format(http.TimeFormat)), status: 429, next: 2*time.Hour - time.Minute},
		"429 for a year":  {answer: after("31536000"), status: 429, next: 24 * time.Hour},
		"hangs up": {why: "connection", next: soon, answer: func(w http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = conn.Close()
			}
		}},
		"redirects inside": {status: 302, why: "redirect", next: soon, answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		}},
	}
}

// For any receiver behaviour, its partner can read the result of the attempt, and other
// partners' deliveries are not affected.
func TestDeliveryResultPerReceiverBehaviour(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	release := make(chan struct{})
	defer close(release)
	endpoints, want := map[string]*wire.WebhookEndpoint{}, s.receiverCases(release)
	for name, b := range want {
		endpoints[name] = s.createEndpoint(newReceiver(t, b.answer), "quote.created")
	}
	secure := httptest.NewTLSServer(respondWithStatus(200)) // the certificate has no known issuer
	t.Cleanup(secure.Close)
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	for name, url := range map[string]string{"tls": secure.URL, "refused": "http://" + closed.Addr().String(), "address": "https://169.254.169.254/"} {
		endpoints[name] = s.createEndpoint(&receiver{Server: &httptest.Server{URL: url}}, "quote.created")
		want[name] = receiverCase{why: name, next: 4 * time.Second}
	}
	s.attemptTimeout = 3 * time.Second // long enough for a handshake on a busy machine
	s.startWorkers()
	s.Quote("rain-excess", nil)
	for name, b := range want { //nolint:paralleltest // one sender serves them all
		t.Run(name, func(t *testing.T) {
			s.requireEventually(func() bool { return len(s.listDeliveries(endpoints[name])) == 1 }, name)
			b.requireDelivery(t, s.listDeliveries(endpoints[name])[0])
		})
	}
}

// requireDelivery compares a delivery with the result that the partner should see.
func (b receiverCase) requireDelivery(t *testing.T, delivery wire.Delivery) {
	t.Helper()
	attempt := delivery.Attempts[0]
	require.Equal(t, map[bool]string{true: "delivered", false: "pending"}[b.delivered], delivery.Status)
	require.LessOrEqual(t, len(attempt.Answer), 1<<10)
	if b.status == 0 {
		require.Nil(t, attempt.StatusCode)
	} else {
		require.Equal(t, b.status, *attempt.StatusCode)
	}
	if b.why == "" {
		require.Nil(t, attempt.Error)
	} else {
		require.Equal(t, b.why, *attempt.Error)
	}
	if !b.delivered {
		wait := delivery.NextAttemptAt.Sub(delivery.UpdatedAt)
		require.GreaterOrEqual(t, wait, b.next)
		require.LessOrEqual(t, wait, max(b.next+time.Minute, 6*time.Second))
	}
}

// Twenty receivers that never answer delay only their own deliveries: a healthy receiver
// gets its event before any of them times out.
func TestHangingReceiversDelayNobody(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	release := make(chan struct{})
	hang := func(http.ResponseWriter, *http.Request) { <-release }
	for range webhooks.MaxWebhookEndpoints - 1 {
		s.createEndpoint(newReceiver(t, hang), "quote.created")
	}
	_, err := s.Service.Webhooks.CreateEndpoint(t.Context(), s.Globex, webhooks.EndpointRequest{URL: &newReceiver(t, hang).URL})
	require.NoError(t, err)
	healthy := newReceiver(t, respondWithStatus(200))
	s.createEndpoint(healthy, "quote.created")
	s.startWorkers()
	for arrived := 1; arrived <= 3; arrived++ {
		s.Quote("rain-excess", nil)
		s.requireEventually(func() bool { return len(healthy.allReceived()) == arrived }, "while all others hang")
	}
	require.Zero(t, s.countRows("deliveries where attempts::text <> '[]' and status = 'pending'"), "none of them was given up yet")
	close(release)
}

func TestFiveDaysOfFailuresDisable(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r := newReceiver(t, respondWithStatus(500))
	endpoint := s.createEndpoint(r, "quote.created")
	s.startWorkers()
	s.Quote("rain-excess", nil)
	s.requireEventually(func() bool { return len(s.listDeliveries(endpoint)) == 1 }, "the first failure")
	s.AdvanceClock(5*24*time.Hour - time.Hour)
	s.requireEventually(func() bool { return len(s.listDeliveries(endpoint)[0].Attempts) == 2 }, "the second")
	now := func() *wire.WebhookEndpoint {
		read, err := s.Service.Webhooks.GetEndpoint(t.Context(), s.Acme, endpoint.ID)
		require.NoError(t, err)
		return read
	}
	require.Equal(t, "enabled", now().Status, "not yet")
	s.AdvanceClock(2 * time.Hour)
	s.requireEventually(func() bool { return now().Status == "disabled" }, "five days are over")
	require.Regexp(t, "^Nothing could be delivered since 20", *now().Note)
	s.requireEventually(func() bool {
		events, err := s.Service.Events.List(t.Context(), s.Acme, events.Filter{Types: []event.Type{"webhook_endpoint.disabled"}}, store.PageRequest{})
		return err == nil && len(events.Data) == 1
	}, "the feed has the event")
	attempts := len(r.allReceived())
	s.Quote("rain-excess", nil)
	s.waitUntilIdle()
	require.Len(t, r.allReceived(), attempts, "nothing is sent any more")
	r.setAnswer(respondWithStatus(200))
	_, err := s.Service.Webhooks.ChangeEndpoint(t.Context(), s.Acme, endpoint.ID, webhooks.EndpointRequest{Status: new("enabled")})
	require.NoError(t, err)
	require.Nil(t, now().Note)
	s.AdvanceClock(24 * time.Hour) // any delivery that still waits for its next attempt
	s.requireEventually(func() bool { return s.countRows("deliveries where status = 'delivered'") == 2 }, "and then it goes on")
}

// newSender allows this machine as a target and uses production's timeouts.
func (s *fixture) newSender() *webhook.Sender {
	wait := webhook.Timeout
	if s.attemptTimeout > 0 {
		wait = s.attemptTimeout
	}
	return &webhook.Sender{Client: egress.New(egress.Config{Loopback: true}).Client(wait), Now: time.Now}
}
