package jobs

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/internal/egress"
	"parapet/internal/meter"
	"parapet/jobs/webhook"
	"parapet/model/events"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/event"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

const benchEvents, benchBacklog = 20_000, 60_000

// writePendingEvents writes pending events, as a change of a quote would.
func (s *fixture) writePendingEvents(n int) {
	s.execSQL(`with e as (insert into events (id, partner, type, subject_type, subject_id, subject_version, occurred_at, data)
			select gen_random_uuid(), 'acme', 'quote.created', 'quote', gen_random_uuid(), 1, clock_timestamp(), convert_to(jsonb_build_object('object', jsonb_build_object('id', i, 'note', repeat('x', 400)))::text, 'utf8')
			from generate_series(1, $1) i returning id)
		insert into event_outbox (partner, event_id) select 'acme', id from e`, n)
}

// counting is a receiver that measures deliveries per second each time that so many have
// arrived; it ignores the first of them, during which the sender starts.
func counting(b *testing.B, all int64) (url string, rate <-chan float64) {
	b.Helper()
	first := all / 10
	done, got, began := make(chan float64, 1), atomic.Int64{}, atomic.Pointer[time.Time]{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch got.Add(1) % all {
		case first:
			began.Store(new(time.Now()))
		case 0:
			done <- float64(all-first) / time.Since(*began.Load()).Seconds()
		}
	}))
	b.Cleanup(server.Close)
	return server.URL, done
}

// BenchmarkRelay numbers events that wait.
func BenchmarkRelay(b *testing.B) {
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	for b.Loop() {
		b.StopTimer()
		s.writePendingEvents(benchEvents)
		used := meter.Start(b, s.pool, os.Getpid())
		b.StartTimer()
		for n := 0; n < benchEvents; {
			numbered, err := s.Service.Events.Relay(b.Context())
			require.NoError(b, err)
			n += numbered
		}
		b.StopTimer()
		used.Stop().Report(b, "", benchEvents, "event")
		b.StartTimer()
	}
	b.ReportMetric(float64(benchEvents*b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkDelivery sends a backlog to a receiver on this machine several times. Before and
// after each time, a bare loop with the same number of callers sends the same signed bodies.
// The figures are medians. The work of a server's start is finished before the measurement.
func BenchmarkDelivery(b *testing.B) {
	const rounds = 5 // odd, so that the median is the value of one round
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	s.writePendingEvents(benchBacklog)
	for n := 0; n < benchBacklog; {
		numbered, err := s.Service.Events.Relay(b.Context())
		require.NoError(b, err)
		n += numbered
	}
	s.startWorkers()
	s.waitUntilIdle() // the checks of a server's start have run
	url, rate := counting(b, benchBacklog)
	_, err := s.Service.Webhooks.CreateEndpoint(b.Context(), s.Acme, webhooks.EndpointRequest{URL: &url, EventTypes: []string{"quote.created"}})
	require.NoError(b, err)
	var speeds, bares, ratios []float64
	var total meter.Usage
	before := bareLoop(b)
	for range rounds {
		s.execSQL("update webhook_progress set cursor = 0, due_at = now()")
		used := meter.Start(b, s.pool, os.Getpid())
		_, err = s.Service.Webhooks.StartDeliveries(b.Context())
		require.NoError(b, err)
		ours := <-rate
		total = total.Plus(used.Stop())
		s.requireEventually(func() bool {
			return s.countRows("webhook_progress where cursor = (select max(sequence) from event_sequence)") == 1
		}, "the deliveries are recorded")
		s.waitUntilIdle()
		after := bareLoop(b)
		bare := (before + after) / 2
		speeds, bares, ratios = append(speeds, ours), append(bares, bare), append(ratios, ours/bare)
		before = after
	}
	for b.Loop() {
	}
	b.ReportMetric(meter.Median(speeds), "deliveries/s")
	b.ReportMetric(meter.Median(bares), "bare/s")
	b.ReportMetric(meter.Median(ratios), "of-bare")
	total.Report(b, "", rounds*benchBacklog, "delivery") // with the receiver's
}

func bareLoop(b *testing.B) float64 {
	b.Helper()
	url, rate := counting(b, benchBacklog)
	client := egress.New(egress.Config{Loopback: true}).Client(webhook.Timeout)
	body, secret := []byte(strings.Repeat("x", 900)), []byte(strings.Repeat("k", 32))
	var next atomic.Int64
	var callers sync.WaitGroup
	for range maxConcurrentSends {
		callers.Go(func() {
			for next.Add(1) <= benchBacklog {
				at := time.Now()
				request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(string(body)))
				if err != nil {
					b.Error(err)
					return
				}
				request.Header.Set("Webhook-Signature", webhook.Sign([][]byte{secret}, "evt_1", at, body))
				answer, err := client.Do(request)
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		})
	}
	callers.Wait()
	return <-rate
}

// BenchmarkLatency measures the time from commit to receipt, at 200 events a second.
func BenchmarkLatency(b *testing.B) {
	const sent = 2000
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	var mu sync.Mutex
	arrived, done := make(map[string]time.Time), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		at := time.Now()
		var event wire.Event
		body, err := io.ReadAll(r.Body)
		if err != nil || wire.Decode(body, &event) != nil {
			return // the event is sent again
		}
		mu.Lock()
		defer mu.Unlock()
		if _, again := arrived[event.Subject.ID]; again {
			return
		}
		if arrived[event.Subject.ID] = at; len(arrived) == sent {
			close(done)
		}
	}))
	b.Cleanup(server.Close)
	_, err := s.Service.Webhooks.CreateEndpoint(b.Context(), s.Acme, webhooks.EndpointRequest{URL: &server.URL, EventTypes: []string{"quote.created"}})
	require.NoError(b, err)
	s.startWorkers()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	tail, err := s.Service.Events.Follow(b.Context(), s.Acme, events.Filter{Types: []event.Type{event.QuoteCreated}})
	require.NoError(b, err)
	numbered := make(map[string]time.Time)
	var reading sync.WaitGroup
	reading.Go(func() {
		for len(numbered) < sent {
			next, err := tail.Next(b.Context())
			if err != nil {
				b.Error(err)
				return
			}
			for _, event := range next {
				numbered[event.Subject.ID] = time.Now()
			}
		}
	})
	committed := make(map[string]time.Time)
	for range sent {
		<-tick.C
		committed[s.Quote("rain-excess", nil).ID] = time.Now()
	}
	<-done
	reading.Wait()
	for b.Loop() {
	}
	percentiles(b, "", committed, arrived)
	percentiles(b, "numbered-", committed, numbered) // until a reader in the same process has the event
}

// percentiles reports the percentiles of the time between two instants.
func percentiles(b *testing.B, name string, from, to map[string]time.Time) {
	b.Helper()
	var took []time.Duration
	for id, at := range from {
		took = append(took, to[id].Sub(at))
	}
	for _, percent := range []int{50, 95, 99} {
		b.ReportMetric(meter.Percentile(took, percent), fmt.Sprintf("%sp%d-ms", name, percent))
	}
}
