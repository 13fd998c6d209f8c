package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"parapet/model"
	"parapet/model/events"
)

// The relay polls at once while events remain, every busyInterval while events arrive, up
// to every maxIdleInterval when idle, and every errorInterval while the database fails. A
// commit in this process wakes an idle relay at once. A pass costs as much as several
// binds, so a busy relay lets events gather. From commit to receipt of an event at 200 a
// second, the 95th percentile is to stay below 100 ms: BenchmarkLatency.
const (
	busyInterval          = 25 * time.Millisecond
	maxIdleInterval       = 100 * time.Millisecond
	errorInterval         = time.Second
	passTimeout           = 30 * time.Second     // limit of one pass
	deliveryStartInterval = time.Second          // how often due endpoints are looked up
	idleStep              = 5 * time.Millisecond // added to the wait by each idle pass
)

// backgroundLoops numbers committed events, starts the delivery runs of due endpoints and
// records heartbeats. It is not a River job: it runs in every worker process, and the
// process that holds the database lock does the work. Another process takes over as soon
// as that connection is gone.
type backgroundLoops struct {
	service *model.Service
	log     *slog.Logger
	sandbox *sandboxWorker // nil unless rehearsals are allowed
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func (r *backgroundLoops) startLoops(ctx context.Context, heartbeat, presence func(context.Context) (time.Duration, error)) {
	ctx, r.cancel = context.WithCancel(ctx)
	wait, numbered := maxIdleInterval, 0
	r.running.Go(func() {
		r.repeatPass(ctx, "relay", r.service.EventsCommitted(), func(ctx context.Context) (time.Duration, error) {
			var err error
			numbered, err = r.relay(ctx, numbered)
			wait = nextRelayInterval(wait, numbered)
			return wait, err
		})
	})
	r.running.Go(func() { r.repeatPass(ctx, "heartbeat", nil, heartbeat) })
	r.running.Go(func() {
		r.repeatPass(ctx, "start deliveries", nil, func(ctx context.Context) (time.Duration, error) {
			_, err := r.service.Webhooks.StartDeliveries(ctx)
			return deliveryStartInterval, err
		})
	})
	r.running.Go(func() { r.repeatPass(ctx, "presence", nil, presence) })
	if r.sandbox != nil {
		r.running.Go(func() { r.repeatPass(ctx, "sandbox", nil, r.sandbox.pass) })
	}
}

// relayTurnWait is how long the relay waits for a turn of bulk work: events of small
// changes wait with it.
const relayTurnWait = time.Second

// bulkPass is how many events make a pass of the relay bulk work. A change has a few, so
// only those of a large event, or of hundreds of changes, are as many.
const bulkPass = events.RelayBatchSize / 10

// relay makes a pass of the relay. One that follows a pass of many events is bulk work.
func (r *backgroundLoops) relay(ctx context.Context, numberedBefore int) (numbered int, err error) {
	if numberedBefore >= bulkPass {
		leave := r.service.Bulk.EnterWithin(ctx, relayTurnWait)
		defer leave()
	}
	return r.service.Events.Relay(ctx)
}

// nextRelayInterval returns how long the relay waits after a pass that numbered this many
// events.
func nextRelayInterval(before time.Duration, numbered int) time.Duration {
	switch numbered {
	case events.RelayBatchSize:
		return 0
	case 0: // back off
		return min(maxIdleInterval, before+idleStep)
	default:
		return busyInterval
	}
}

// stopLoops ends the loops after the current pass. It may be called without startLoops.
func (r *backgroundLoops) stopLoops() {
	if r.cancel != nil {
		r.cancel()
		r.running.Wait()
	}
}

// repeatPass runs pass until ctx ends. Between passes it waits as long as pass asks; a
// signal on called ends a long wait early. A pass that has begun always completes.
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
		if (err != nil) != lost { // log only changes
			r.log.WarnContext(ctx, what, "ok", err == nil, "error", err)
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
