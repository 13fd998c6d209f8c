package jobs

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"

	"parapet/jobs/webhook"
	"parapet/model"
	"parapet/model/events/webhooks"
)

// maxDeliveryRun is how long a delivery run sends before another run replaces it.
// eventWaitTime is how long it waits for more events before it ends. maxConcurrentSends
// limits parallel attempts. After maxFailuresWithoutSuccess failures without a success it
// sends no more of a batch. maxDeliveryRun plus webhook.Timeout is less than jobTimeout:
// the last results must be saved before the job times out, or they would be sent again
// for ever.
const (
	maxDeliveryRun            = 25 * time.Second
	eventWaitTime             = 500 * time.Millisecond
	maxConcurrentSends        = 32
	maxFailuresWithoutSuccess = 10
)

// deliverEndpoint delivers an endpoint's due events. If it dies, it sends again what it
// has sent and not saved.
type deliverEndpoint struct {
	river.WorkerDefaults[webhooks.DeliverEndpoint]

	service *model.Service
	sender  *webhook.Sender
}

// Work implements river.Worker.
func (w *deliverEndpoint) Work(ctx context.Context, job *river.Job[webhooks.DeliverEndpoint]) error {
	working, stop := context.WithTimeout(ctx, maxDeliveryRun)
	defer stop()
	defer w.heartbeat(ctx, job.Args, stop)()
	for working.Err() == nil {
		batch, err := w.service.Webhooks.WaitForBatch(ctx, job.Args, eventWaitTime)
		if err != nil {
			return err
		}
		if batch == nil {
			more, err := w.service.Webhooks.EndDelivery(ctx, job.Args, false)
			if err != nil || !more {
				return err
			}
			continue
		}
		if err := w.deliverBatches(ctx, job.Args, batch, func() bool { return working.Err() == nil }, stop); err != nil {
			return err
		}
	}
	_, err := w.service.Webhooks.EndDelivery(ctx, job.Args, true)
	return err
}

// deliverBatches sends batches until an attempt fails or time is up. While one batch is
// sent, the previous one is saved and the next one prefetched.
func (w *deliverEndpoint) deliverBatches(ctx context.Context, job webhooks.DeliverEndpoint, batch *webhooks.DeliveryBatch, inTime func() bool, lost func()) error {
	keep := func() error { return nil } // saves the previous batch
	for batch != nil {
		var ahead *webhooks.DeliveryBatch
		var background errgroup.Group
		background.Go(func() (err error) {
			if err := keep(); err != nil {
				return err
			}
			ahead, err = w.service.Webhooks.Prefetch(ctx, job, batch)
			return err
		})
		sent := w.sendBatch(ctx, batch, inTime)
		if err := background.Wait(); err != nil {
			return err
		}
		gone := batch
		keep = func() error {
			kept, err := w.service.Webhooks.SaveBatch(ctx, job, gone, sent)
			if !kept {
				lost()
			}
			return err
		}
		if batch = ahead; !inTime() || slices.ContainsFunc(sent, func(s webhooks.AttemptResult) bool { return !s.Delivered }) {
			batch = nil
		}
	}
	return keep()
}

// heartbeat renews the lease of the delivery run until end is called. It calls lost when
// another run has the lease. It ignores database errors because the run's own work meets
// them too.
func (w *deliverEndpoint) heartbeat(ctx context.Context, job webhooks.DeliverEndpoint, lost func()) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		beat := time.NewTicker(webhooks.LeaseRenewInterval)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				if held, err := w.service.Webhooks.RenewLease(ctx, job); err == nil && !held {
					lost()
				}
			}
		}
	})
	return func() {
		cancel()
		beating.Wait()
	}
}

// sendBatch makes the attempts of a batch, many at once. An ordered endpoint gets the
// events of one subject one after the other, up to the first failure. No attempt begins
// after the time is up.
func (w *deliverEndpoint) sendBatch(ctx context.Context, batch *webhooks.DeliveryBatch, inTime func() bool) []webhooks.AttemptResult {
	sent := make([]webhooks.AttemptResult, len(batch.Items))
	for i := range sent {
		sent[i].Outgoing = batch.Items[i] // not sent yet
	}
	var succeeded, failed atomic.Int64
	queues := make(chan []int)
	var all sync.WaitGroup
	lines := batch.ParallelGroups()
	for range min(maxConcurrentSends, len(lines)) {
		all.Go(func() {
			for line := range queues {
				for _, i := range line {
					if batch.Items[i].Blocked || !inTime() || succeeded.Load() == 0 && failed.Load() >= maxFailuresWithoutSuccess {
						break
					}
					if !w.sendEvent(ctx, batch, &sent[i]) {
						failed.Add(1)
						break
					}
					succeeded.Add(1)
				}
			}
		})
	}
	for _, line := range lines {
		queues <- line
	}
	close(queues)
	all.Wait()
	return sent
}

func (w *deliverEndpoint) sendEvent(ctx context.Context, batch *webhooks.DeliveryBatch, sent *webhooks.AttemptResult) bool {
	result := w.sender.Send(ctx, webhook.Message{URL: batch.URL, Secrets: batch.Secrets, ID: sent.Outgoing.Event.ID, Body: sent.Outgoing.Body})
	sent.Attempt, sent.Delivered, sent.Gone, sent.RetryAfter = &result.Attempt, result.Delivered, result.Gone, result.RetryAfter
	return result.Delivered
}
