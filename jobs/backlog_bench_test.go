package jobs

import (
	"context"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/events/webhooks"
	"parapet/model/modeltest"
)

// behind creates n numbered events that a partner's endpoint has not received. The relay
// numbers nothing meanwhile.
func (s *fixture) behind(n int) {
	s.t.Helper()
	require.NoError(s.t, pgx.BeginFunc(s.t.Context(), s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(s.t.Context(), "lock table event_sequence in share row exclusive mode"); err != nil {
			return err
		}
		_, err := tx.Exec(s.t.Context(), `with last as (select coalesce(max(sequence), 0) as sequence from event_sequence where partner = 'acme'),
			e as (insert into events (id, partner, type, subject_type, subject_id, subject_version, occurred_at, data)
				select gen_random_uuid(), 'acme', 'quote.created', 'quote', gen_random_uuid(), 1, now(), convert_to('{"object":{"note":"' || repeat('x', 200) || '"}}', 'utf8')
				from generate_series(1, $1) returning id)
			insert into event_sequence (partner, sequence, event_id, hash, type)
				select 'acme', (select sequence from last) + row_number() over (), id, sha256(id::text::bytea), 'quote.created' from e`, n)
		return err
	}))
	s.execSQL("analyze events, event_sequence")
}

// memory returns this process's memory in bytes: live objects, and the resident size.
func memory(b *testing.B) (heap, resident float64) {
	b.Helper()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return float64(stats.HeapAlloc), 0 // not Linux
	}
	_, line, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(line)[0])
	require.NoError(b, err)
	return float64(stats.HeapAlloc), float64(kib) * 1024
}

// BenchmarkBacklog keeps a million events for a receiver that does not answer: they cost
// no memory, rows or jobs, and a payout is still released.
func BenchmarkBacklog(b *testing.B) {
	const backlog = 1_000_000
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	closed, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	require.NoError(b, err)
	require.NoError(b, closed.Close())
	dead := "http://" + closed.Addr().String()
	_, err = s.Service.Webhooks.CreateEndpoint(b.Context(), s.Acme, webhooks.EndpointRequest{URL: &dead})
	require.NoError(b, err)
	sent := make(chan time.Time, 1)
	policy := s.QuoteAndBind("quake-circle", nil)
	s.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	s.startWorkersWith(&wrappedRail{Rail: s.rail, send: func(ctx context.Context, i rail.Instruction) rail.Result {
		sent <- time.Now()
		return s.rail.Send(ctx, i)
	}})
	s.waitUntilIdle()
	heap, resident := memory(b)
	s.behind(backlog)
	s.Quote("rain-excess", nil) // this schedules a run of the endpoint
	s.requireEventually(func() bool { return s.countRows("webhook_progress where next_probe_at is not null") == 1 }, "the receiver is known to be dead")
	for range 20 { // several runs in a row
		s.execSQL("update webhook_progress set next_probe_at = now(), due_at = now()")
		attempts := s.countRows("deliveries")
		s.requireEventually(func() bool { return s.countRows("deliveries") > attempts }, "it is tried with one more")
	}
	began := time.Now()
	_, _, err = s.Service.Occurrences.RecordObservation(b.Context(), s.Source, modeltest.Quake("us1000chhc", s.Now(), epicentre, "6.4"), false)
	require.NoError(b, err)
	paid := (<-sent).Sub(began)
	heapThen, residentThen := memory(b)
	for b.Loop() {
	}
	require.GreaterOrEqual(b, s.countRows("event_sequence n join webhook_progress p on n.sequence > p.cursor"), backlog-1000, "nearly all still wait")
	b.ReportMetric((heapThen-heap)/(1<<20), "heap-growth-MiB")
	b.ReportMetric((residentThen-resident)/(1<<20), "rss-growth-MiB")
	b.ReportMetric(float64(s.countRows("deliveries")), "delivery-rows")
	b.ReportMetric(float64(s.countRows("river.river_job where kind = 'deliver_endpoint' and finalized_at is null")), "waiting-jobs")
	b.ReportMetric(float64(paid.Milliseconds()), "to-payout-ms")
}

// BenchmarkRelayLag numbers 300,000 events while another session holds a snapshot from
// before the first of them, so that no numbered row can be vacuumed. If the relay read
// these rows again, each pass would take longer than the previous one.
func BenchmarkRelayLag(b *testing.B) {
	const events, step = 300_000, 10_000
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	old, err := s.pool.BeginTx(b.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(b, err)
	defer func() { _ = old.Rollback(context.WithoutCancel(b.Context())) }()
	_, err = old.Exec(b.Context(), "select pg_current_xact_id(), count(*) from event_outbox")
	require.NoError(b, err)
	var took []time.Duration
	for range events / step {
		s.writePendingEvents(step)
		began := time.Now()
		s.Relay()
		took = append(took, time.Since(began))
	}
	for b.Loop() {
	}
	sum := func(part []time.Duration) (all float64) {
		for _, each := range part {
			all += each.Seconds()
		}
		return all
	}
	b.ReportMetric(events/sum(took), "events/s")
	b.ReportMetric(sum(took[len(took)/2:])/sum(took[:len(took)/2]), "second-half-of-first")
}
