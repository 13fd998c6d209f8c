package jobs

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"parapet/jobs/rail"
	"parapet/model/modeltest"
	"parapet/model/payouts"
)

// inserted records jobs in the order in which the queue receives them.
func inserted(fleet []payouts.ReleasePayout) []river.InsertManyParams {
	params := make([]river.InsertManyParams, len(fleet))
	for i, job := range fleet {
		params[i] = river.InsertManyParams{Args: job, InsertOpts: optionsOf(job.Kind())}
	}
	return params
}

// sendOrder records the order in which payouts are sent.
type sendOrder struct {
	mu  sync.Mutex
	ids []string
}

func (o *sendOrder) note(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids = append(o.ids, id)
}

// TestFirstPayoutOfAnotherPartnerGoesAheadOfABacklog enqueues all payouts of one partner
// before the only one of another. The sends of the first jobs wait until the other
// partner's payout was moved ahead, so that the result does not depend on speed.
func TestFirstPayoutOfAnotherPartnerGoesAheadOfABacklog(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	fleet := s.createPendingPayoutsOf(60, 1)
	last := fleet[len(fleet)-1]
	require.Equal(t, "globex", last.Partner)
	advanced := make(chan struct{})
	var order sendOrder
	queue := s.startQueue(&wrappedRail{Rail: s.rail, send: func(ctx context.Context, i rail.Instruction) rail.Result {
		order.note(i.PayoutID)
		select {
		case <-advanced:
		case <-ctx.Done():
		}
		return s.rail.Send(ctx, i)
	}})
	queue.insert(inserted(fleet))
	s.requireEventually(func() bool { return s.countRows("river.river_job where priority = $1", priorityHigh) > 0 }, "the other partner's stands ahead")
	close(advanced)
	s.requireEventually(func() bool { return s.countRows("payouts where status = 'released'") == len(fleet) }, "all are released")
	workers := queues[queuePayouts].MaxWorkers
	require.LessOrEqual(t, slices.Index(order.ids, last.ID), 2*workers, "only what workers had already is sent before it")
	require.Len(t, order.ids, len(fleet), "none twice")
}

// BenchmarkFairShare queues 5,000 payouts of one partner, by single jobs and in batches,
// and measures the delay of the first payout of another partner that becomes due
// meanwhile.
func BenchmarkFairShare(b *testing.B) {
	const backlog = 5000
	single, singleBacklog := fairShareOfJobs(b, backlog)
	batched, batchedBacklog := fairShareOfBatches(b, backlog)
	for b.Loop() {
	}
	b.ReportMetric(single.Seconds(), "single-s")
	b.ReportMetric(singleBacklog.Seconds(), "single-backlog-s")
	b.ReportMetric(batched.Seconds(), "batched-s")
	b.ReportMetric(batchedBacklog.Seconds(), "batched-backlog-s")
}

// lastBecomesDue delays globex's payout. The returned function makes it due and waits
// until it is released.
func (s *fixture) lastBecomesDue(ask func()) (release func() time.Duration) {
	s.execSQL("update payouts set next_attempt_at = next_attempt_at + interval '1 year' where partner = 'globex'")
	s.execSQL("vacuum analyze")
	return func() time.Duration {
		s.requireEventually(func() bool { return s.countRows("payouts where status = 'released'") > 100 }, "payouts go out")
		began := time.Now()
		s.execSQL("update payouts set next_attempt_at = business_now() where partner = 'globex'")
		ask()
		s.requireEventually(func() bool { return s.countRows("payouts where partner = 'globex' and status = 'released'") == 1 }, "the other partner's is released")
		took := time.Since(began)
		require.Positive(s.t, s.countRows("payouts where status = 'pending'"), "while others wait")
		return took
	}
}

func fairShareOfJobs(b *testing.B, backlog int) (first, all time.Duration) {
	b.Helper()
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	fleet := inserted(s.createPendingPayoutsOf(backlog, 1))
	work := s.queue(s.rail)
	release := s.lastBecomesDue(func() { go work(fleet[backlog:]) })
	done := make(chan time.Duration)
	go func() { done <- work(fleet[:backlog]) }()
	first = release()
	return first, <-done
}

func fairShareOfBatches(b *testing.B, backlog int) (first, all time.Duration) {
	b.Helper()
	s := newFixtureWith(b, noWait, modeltest.WithoutChecks())
	s.resetService(true)
	s.createPendingPayoutsOf(backlog, 1)
	files, _ := s.writtenFiles()
	work := s.queue(files)
	release := s.lastBecomesDue(func() {})
	done := make(chan time.Duration)
	go func() {
		done <- work(slices.Repeat([]river.InsertManyParams{{Args: payouts.ReleaseBatch{}, InsertOpts: optionsOf(payouts.ReleaseBatch{}.Kind())}}, queues[queueBatches].MaxWorkers))
	}()
	first = release()
	return first, <-done
}

func TestOtherPartnersAreMovedAheadOncePerInterval(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	at := s.Now()
	w := &releasePayout{service: s.Service, log: slog.New(slog.DiscardHandler), now: func() time.Time { return at }}
	w.advanceOthers(t.Context(), "acme")
	first := at.UnixNano()
	require.Equal(t, first, w.advancedAt.Load())
	at = at.Add(advanceInterval - 1)
	w.advanceOthers(t.Context(), "acme")
	require.Equal(t, first, w.advancedAt.Load())
	at = at.Add(1)
	w.advanceOthers(t.Context(), "acme")
	require.Equal(t, at.UnixNano(), w.advancedAt.Load())
}
