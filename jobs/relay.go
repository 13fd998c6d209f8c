package jobs

import (
	"context"
	"log/slog"
	"time"

	"parapet/model"
)

// How often the relay looks for events: at once while there are more, often while
// changes come, less often when nothing happens, and rarely while the database does
// not answer.
const (
	relayBusy = 20 * time.Millisecond
	relayIdle = 100 * time.Millisecond
	relayLost = time.Second
	relayPass = 30 * time.Second // what one pass may take
)

// relay numbers events as they commit. It is no River job: it runs in every worker
// process and the one that holds the database's lock works, so another takes over
// as soon as its connection is gone.
type relay struct {
	service *model.Service
	log     *slog.Logger
	cancel  context.CancelFunc
	ended   chan struct{}
}

func (r *relay) start(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	r.ended = make(chan struct{})
	go func() {
		defer close(r.ended)
		r.run(ctx)
	}()
}

// stop ends the relay after the pass that runs; it may be called without start.
func (r *relay) stop() {
	if r.cancel != nil {
		r.cancel()
		<-r.ended
	}
}

func (r *relay) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait, lost := relayIdle, false; ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		numbered, err := r.pass(ctx)
		if (err != nil) != lost {
			r.log.WarnContext(ctx, "relay", "error", err, "answers", err == nil) // once, not every second
		}
		lost = err != nil
		switch {
		case lost:
			wait = relayLost
		case numbered == model.RelayBatch:
			wait = 0
		case numbered > 0:
			wait = relayBusy
		default: // ever less often
			wait = min(relayIdle, wait+relayBusy/4)
		}
		timer.Reset(wait)
	}
}

// pass ends what it began even when the process is told to stop.
func (r *relay) pass(ctx context.Context) (numbered int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), relayPass)
	defer cancel()
	return r.service.Relay(ctx)
}
