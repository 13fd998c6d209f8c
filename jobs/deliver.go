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
// kept before the job's time is over, or it would be sent again for ever: drainTime
// and webhook.Timeout together are less than jobTimeout.
const (
	drainTime   = 25 * time.Second
	drainLinger = 500 * time.Millisecond
	drainAtOnce = 32
	drainGiveUp = 10
)

// drainEndpoint sends an endpoint what is due to it. What it has sent and not kept
// when it dies is sent again.
type drainEndpoint struct {
	river.WorkerDefaults[model.DrainEndpoint]

	service *model.Service
	sender  *webhook.Sender
}

// Work implements river.Worker.
func (w *drainEndpoint) Work(ctx context.Context, job *river.Job[model.DrainEndpoint]) error {
	working, stop := context.WithTimeout(ctx, drainTime)
	defer stop()
	defer w.live(ctx, job.Args, stop)()
	for working.Err() == nil {
		batch, err := w.service.AwaitBatch(ctx, job.Args, drainLinger)
		if err != nil {
			return err
		}
		if batch == nil {
			more, err := w.service.EndDrain(ctx, job.Args, false)
			if err != nil || !more {
				return err
			}
			continue
		}
		if err := w.deliver(ctx, job.Args, batch, func() bool { return working.Err() == nil }, stop); err != nil {
			return err
		}
	}
	_, err := w.service.EndDrain(ctx, job.Args, true)
	return err
}

// deliver sends a batch and what follows it, as long as everything arrives: while one
// batch is sent the one before is kept and the next one read, so that the receiver does
// not wait for the database. It says when the endpoint is lost to it.
func (w *drainEndpoint) deliver(ctx context.Context, job model.DrainEndpoint, batch *model.Batch, inTime func() bool, lost func()) error {
	keep := func() error { return nil } // the batch before
	for batch != nil {
		var ahead *model.Batch
		var beside errgroup.Group
		beside.Go(func() (err error) {
			if err := keep(); err != nil {
				return err
			}
			ahead, err = w.service.ReadAhead(ctx, job, batch)
			return err
		})
		sent := w.send(ctx, batch, inTime)
		if err := beside.Wait(); err != nil {
			return err
		}
		gone := batch
		keep = func() error {
			kept, err := w.service.KeepBatch(ctx, job, gone, sent)
			if !kept {
				lost()
			}
			return err
		}
		if batch = ahead; !inTime() || slices.ContainsFunc(sent, func(s model.Sent) bool { return !s.Delivered }) {
			batch = nil
		}
	}
	return keep()
}

// live shows that the drain lives until it is told to end, and says when the endpoint
// is lost to it. An error needs no telling: the drain's own work has it too.
func (w *drainEndpoint) live(ctx context.Context, job model.DrainEndpoint, lost func()) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() {
		beat := time.NewTicker(model.DrainBeat)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
				if held, err := w.service.RenewDrain(ctx, job); err == nil && !held {
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

// send makes the attempts of a batch, many at once; events of one subject go one
// after the other at an ordered endpoint, up to the first that fails. No attempt begins
// when there is no time for it.
func (w *drainEndpoint) send(ctx context.Context, batch *model.Batch, inTime func() bool) []model.Sent {
	sent := make([]model.Sent, len(batch.Items))
	for i := range sent {
		sent[i].Dispatch = batch.Items[i] // not sent, until it is
	}
	var succeeded, failed atomic.Int64
	queues := make(chan []int)
	var all sync.WaitGroup
	lines := batch.Lines()
	for range min(drainAtOnce, len(lines)) {
		all.Go(func() {
			for line := range queues {
				for _, i := range line {
					if batch.Items[i].Held || !inTime() || succeeded.Load() == 0 && failed.Load() >= drainGiveUp {
						break
					}
					if !w.try(ctx, batch, &sent[i]) {
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

func (w *drainEndpoint) try(ctx context.Context, batch *model.Batch, sent *model.Sent) bool {
	result := w.sender.Send(ctx, webhook.Message{URL: batch.URL, Secrets: batch.Secrets, ID: sent.Dispatch.Event.ID, Body: sent.Dispatch.Body})
	sent.Attempt, sent.Delivered, sent.Gone, sent.RetryAfter = &result.Attempt, result.Delivered, result.Gone, result.RetryAfter
	return result.Delivered
}
