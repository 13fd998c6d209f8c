package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parapet/model"
)

// How often the relay looks for events: at once while there are more, often while
// changes come, less often when nothing happens, and rarely while the database does
// not answer. What this process itself commits into the quiet it hears of at once.
const (
	relayBusy = 10 * time.Millisecond
	relayIdle = 100 * time.Millisecond
	relayLost = time.Second
	relayPass = 30 * time.Second     // what one pass may take
	drainsDue = time.Second          // how often endpoints are looked for that are due by now
	relayRest = 5 * time.Millisecond // what an idle pass adds to the wait
)

// relay numbers events as they commit, starts the drains of endpoints whose time has
// come, and records heartbeats. It is no River job: it runs in every worker process and
// the one that holds the database's lock works, so another takes over as soon as its
// connection is gone.
type relay struct {
	service *model.Service
	log     *slog.Logger
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func (r *relay) start(ctx context.Context, heartbeat, presence func(context.Context) (time.Duration, error)) {
	ctx, r.cancel = context.WithCancel(ctx)
	wait := relayIdle
	r.running.Go(func() {
		r.repeat(ctx, "relay", r.service.Committed(), func(ctx context.Context) (time.Duration, error) {
			numbered, err := r.service.Relay(ctx)
			wait = pace(wait, numbered)
			return wait, err
		})
	})
	r.running.Go(func() { r.repeat(ctx, "heartbeat", nil, heartbeat) })
	r.running.Go(func() {
		r.repeat(ctx, "start drains", nil, func(ctx context.Context) (time.Duration, error) {
			_, err := r.service.StartDrains(ctx)
			return drainsDue, err
		})
	})
	r.running.Go(func() { r.repeat(ctx, "presence", nil, presence) })
}

// pace is how long the relay waits after a pass that numbered so many events.
func pace(before time.Duration, numbered int) time.Duration {
	switch numbered {
	case model.RelayBatch:
		return 0
	case 0: // ever less often
		return min(relayIdle, before+relayRest)
	default:
		return relayBusy
	}
}

// stop ends the relay after the pass that runs; it may be called without start.
func (r *relay) stop() {
	if r.cancel != nil {
		r.cancel()
		r.running.Wait()
	}
}

// repeat does something again and again, after the wait it asks for, or when it is
// called out of one that is not short, until ctx ends. A pass that has begun ends even
// then.
func (r *relay) repeat(ctx context.Context, what string, called <-chan struct{}, pass func(context.Context) (time.Duration, error)) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var listen <-chan struct{}
	for lost := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-listen:
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), relayPass)
		wait, err := pass(bounded)
		cancel()
		if (err != nil) != lost { // said once, not with every pass
			r.log.WarnContext(ctx, what, "works", err == nil, "error", err)
		}
		if lost = err != nil; lost {
			wait = relayLost
		}
		if listen = nil; !lost && wait > relayBusy {
			listen = called
		}
		timer.Reset(wait)
	}
}
