package jobs

import (
	"context"
	"math"
	"sync"
	"time"
)

// railPace keeps the orders to a rail below a number a second: orders above it stay in the
// queue and are not failures. Unused time is worth at most one second of orders. It is
// safe for concurrent use; nil has no limit.
type railPace struct {
	perSecond float64
	now       func() time.Time

	mu       sync.Mutex
	left     float64 // orders that may be sent now
	filledAt time.Time
}

// newRailPace returns a pace of so many orders a second; nil for none.
func newRailPace(perSecond int, now func() time.Time) *railPace {
	if perSecond <= 0 {
		return nil
	}
	return &railPace{perSecond: float64(perSecond), now: now, left: float64(perSecond), filledAt: now()}
}

// maxPaceWait is how long a job waits for its turn before it goes back to the queue.
const maxPaceWait = 10 * time.Second

// acquire takes up to most orders and waits for the first of them; ok is false when that
// takes too long or ctx ends. Several orders wait until a quarter of a second's are
// possible, so that calls of groups do not shrink to one order.
func (p *railPace) acquire(ctx context.Context, most int) (taken int, ok bool) {
	taken, _, ok = p.acquireInTurn(ctx, most, func(context.Context) (func(), error) { return func() {}, nil })
	return taken, ok
}

// acquireInTurn is acquire within a turn that enter gives and leave ends. It holds no turn
// while it waits for the pace, and no orders while it waits for a turn: orders that several
// jobs had taken before would be sent at the same moment. ok is false also when enter fails.
func (p *railPace) acquireInTurn(ctx context.Context, most int, enter func(context.Context) (leave func(), err error)) (taken int, leave func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, maxPaceWait)
	defer cancel()
	for {
		leave, err := enter(ctx)
		if err != nil {
			return 0, nil, false
		}
		taken, wait := p.take(most)
		if taken > 0 {
			return taken, leave, true
		}
		leave()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, nil, false
		}
	}
}

// take takes up to most orders, or returns how long to wait.
func (p *railPace) take(most int) (taken int, wait time.Duration) {
	if p == nil {
		return most, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.left = min(p.perSecond, p.left+max(0, now.Sub(p.filledAt).Seconds())*p.perSecond)
	p.filledAt = now
	least := min(float64(most), max(1, p.perSecond/4))
	if p.left < least {
		return 0, time.Duration(math.Ceil((least - p.left) / p.perSecond * float64(time.Second)))
	}
	taken = min(most, int(p.left))
	p.left -= float64(taken)
	return taken, 0
}

// giveBack returns orders that were taken and not sent.
func (p *railPace) giveBack(unused int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = min(p.perSecond, p.left+float64(unused))
}
