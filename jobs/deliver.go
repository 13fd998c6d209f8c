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
)

// How long a drain sends before another one goes on, how long it waits for more
// events before it ends, how many events it sends at once, and after how many
// failures without a success it sends no more of a batch. What was sent last must be
// kept before the job's time is over, or it would be sent again for ever: maxDeliveryRun
// and webhook.Timeout together are less than jobTimeout.
const (
	maxDeliveryRun            = 25 * time.Second
	eventWaitTime             = 500 * time.Millisecond
	maxConcurrentSends        = 32
	maxFailuresWithoutSuccess = 10
)

// deliverEndpoint sends an endpoint what is due to it. What it has sent and not kept
// when it dies is sent again.
type deliverEndpoint struct {
	river.WorkerDefaults[model.DeliverEndpoint]

	service *model.Service
	sender  *webhook.Sender
}

// Work implements river.Worker.
func (w *deliverEndpoint) Work(ctx context.Context, job *river.Job[model.DeliverEndpoint]) error {
	working, stop := context.WithTimeout(ctx, maxDeliveryRun)
	defer stop()
	defer w.heartbeat(ctx, job.Args, stop)()
	for working.Err() == nil {
		batch, err := w.service.WaitForBatch(ctx, job.Args, eventWaitTime)
		if err != nil {
			return err
		}
		if batch == nil {
			more, err := w.service.EndDelivery(ctx, job.Args, false)
			if err != nil || !more {
				return err
			}
			continue
		}
		if err := w.deliverBatches(ctx, job.Args, batch, func() bool { return working.Err() == nil }, stop); err != nil {
			return err
		}
	}
	_, err := w.service.EndDelivery(ctx, job.Args, true)
	return err
}

// deliverBatches sends batches until an attempt fails or time is up. While one batch is
// sent, the previous one is saved and the next one prefetched.
func (w *deliverEndpoint) deliverBatches(ctx context.Context, job model.DeliverEndpoint, batch *model.DeliveryBatch, inTime func() bool, lost func()) error {
	keep := func() error { return nil } // the batch before
	for batch != nil {
		var ahead *model.DeliveryBatch
		var beside errgroup.Group
		beside.Go(func() (err error) {
			if err := keep(); err != nil {
				return err
			}
			ahead, err = w.service.Prefetch(ctx, job, batch)
			return err
		})
		sent := w.sendBatch(ctx, batch, inTime)
		if err := beside.Wait(); err != nil {
			return err
		}
		gone := batch
		keep = func() error {
			kept, err := w.service.SaveBatch(ctx, job, gone, sent)
			if !kept {
				lost()
			}
			return err
		}
		if batch = ahead; !inTime() || slices.ContainsFunc(sent, func(s model.AttemptResult) bool { return !s.Delivered }) {
			batch = nil
		}
	}
	return keep()
}

// heartbeat shows that the drain lives until it is told to end, and says when the endpoint
// is lost to it. An error needs no telling: the drain's own work has it too.
func (w *deliverEndpoint) heartbeat(ctx context.Context, job model.DeliverEndpoint, lost func()) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		beat := time.NewTicker(model.LeaseRenewInterval)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				if held, err := w.service.RenewLease(ctx, job); err == nil && !held {
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

// sendBatch makes the attempts of a batch, many at once; events of one subject go one
// after the other at an ordered endpoint, up to the first that fails. No attempt begins
// when there is no time for it.
func (w *deliverEndpoint) sendBatch(ctx context.Context, batch *model.DeliveryBatch, inTime func() bool) []model.AttemptResult {
	sent := make([]model.AttemptResult, len(batch.Items))
	for i := range sent {
		sent[i].Outgoing = batch.Items[i] // not sent, until it is
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

func (w *deliverEndpoint) sendEvent(ctx context.Context, batch *model.DeliveryBatch, sent *model.AttemptResult) bool {
	result := w.sender.Send(ctx, webhook.Message{URL: batch.URL, Secrets: batch.Secrets, ID: sent.Outgoing.Event.ID, Body: sent.Outgoing.Body})
	sent.Attempt, sent.Delivered, sent.Gone, sent.RetryAfter = &result.Attempt, result.Delivered, result.Gone, result.RetryAfter
	return result.Delivered
}
