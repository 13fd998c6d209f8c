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
	busyInterval          = 10 * time.Millisecond
	maxIdleInterval       = 100 * time.Millisecond
	errorInterval         = time.Second
	passTimeout           = 30 * time.Second     // what one pass may take
	deliveryStartInterval = time.Second          // how often endpoints are looked for that are due by now
	idleStep              = 5 * time.Millisecond // what an idle pass adds to the wait
)

// backgroundLoops numbers events as they commit, starts the drains of endpoints whose time has
// come, and records heartbeats. It is no River job: it runs in every worker process and
// the one that holds the database's lock works, so another takes over as soon as its
// connection is gone.
type backgroundLoops struct {
	service *model.Service
	log     *slog.Logger
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func (r *backgroundLoops) startLoops(ctx context.Context, heartbeat, presence func(context.Context) (time.Duration, error)) {
	ctx, r.cancel = context.WithCancel(ctx)
	wait := maxIdleInterval
	r.running.Go(func() {
		r.repeatPass(ctx, "relay", r.service.EventsCommitted(), func(ctx context.Context) (time.Duration, error) {
			numbered, err := r.service.Relay(ctx)
			wait = nextRelayInterval(wait, numbered)
			return wait, err
		})
	})
	r.running.Go(func() { r.repeatPass(ctx, "heartbeat", nil, heartbeat) })
	r.running.Go(func() {
		r.repeatPass(ctx, "start drains", nil, func(ctx context.Context) (time.Duration, error) {
			_, err := r.service.StartDeliveries(ctx)
			return deliveryStartInterval, err
		})
	})
	r.running.Go(func() { r.repeatPass(ctx, "presence", nil, presence) })
}

// nextRelayInterval is how long the relay waits after a pass that numbered so many events.
func nextRelayInterval(before time.Duration, numbered int) time.Duration {
	switch numbered {
	case model.RelayBatchSize:
		return 0
	case 0: // ever less often
		return min(maxIdleInterval, before+idleStep)
	default:
		return busyInterval
	}
}

// stopLoops ends the relay after the pass that runs; it may be called without start.
func (r *backgroundLoops) stopLoops() {
	if r.cancel != nil {
		r.cancel()
		r.running.Wait()
	}
}

// repeatPass does something again and again, after the wait it asks for, or when it is
// called out of one that is not short, until ctx ends. A pass that has begun ends even
// then.
func (r *backgroundLoops) repeatPass(ctx context.Context, what string, called <-chan struct{}, pass func(context.Context) (time.Duration, error)) {
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
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), passTimeout)
		wait, err := pass(bounded)
		cancel()
		if (err != nil) != lost { // said once, not with every pass
			r.log.WarnContext(ctx, what, "works", err == nil, "error", err)
		}
		if lost = err != nil; lost {
			wait = errorInterval
		}
		if listen = nil; !lost && wait > busyInterval {
			listen = called
		}
		timer.Reset(wait)
	}
}
