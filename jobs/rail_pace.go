package jobs

import (
	"context"
	"slices"
	"sync"
	"time"
)

// railPace keeps the orders that are taken for a rail below a number in any second: orders
// above it stay in the queue and are not failures. It is safe for concurrent use; nil has
// no limit.
type railPace struct {
	perSecond int
	now       func() time.Time

	mu     sync.Mutex
	recent []takenOrders // of the last second, oldest first
}

// takenOrders are orders that were taken at one moment.
type takenOrders struct {
	at     time.Time
	orders int
}

// newRailPace returns a pace of so many orders a second; nil for none.
func newRailPace(perSecond int, now func() time.Time) *railPace {
	if perSecond <= 0 {
		return nil
	}
	return &railPace{perSecond: perSecond, now: now}
}

// maxPaceWait is how long a job waits for its turn before it goes back to the queue.
const maxPaceWait = 10 * time.Second

// acquire takes up to most orders and waits for the first of them; ok is false when that
// takes too long or ctx ends. Several orders wait until a quarter of a second's are
// possible, so that calls of groups do not shrink to one order.
func (p *railPace) acquire(ctx context.Context, most int) (taken takenOrders, ok bool) {
	taken, _, ok = p.acquireInTurn(ctx, most, func(context.Context) (func(), error) { return func() {}, nil })
	return taken, ok
}

// acquireInTurn is acquire within a turn that enter gives and leave ends. It holds no turn
// while it waits for the pace, and no orders while it waits for a turn: orders that several
// jobs had taken before would be sent at the same moment. ok is false also when enter fails.
func (p *railPace) acquireInTurn(ctx context.Context, most int, enter func(context.Context) (leave func(), err error)) (taken takenOrders, leave func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, maxPaceWait)
	defer cancel()
	for {
		leave, err := enter(ctx)
		if err != nil {
			return takenOrders{}, nil, false
		}
		taken, wait := p.take(most)
		if taken.orders > 0 {
			return taken, leave, true
		}
		leave()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return takenOrders{}, nil, false
		}
	}
}

// take takes up to most orders, or returns how long to wait.
func (p *railPace) take(most int) (taken takenOrders, wait time.Duration) {
	if p == nil {
		return takenOrders{orders: most}, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.recent = slices.DeleteFunc(p.recent, func(t takenOrders) bool { return now.Sub(t.at) >= time.Second })
	free := p.perSecond
	for _, t := range p.recent {
		free -= t.orders
	}
	least := min(most, max(1, p.perSecond/4))
	for _, t := range p.recent {
		if free >= least {
			break
		}
		free += t.orders
		wait = time.Second - now.Sub(t.at)
	}
	if wait > 0 {
		return takenOrders{}, wait
	}
	taken = takenOrders{now, min(most, free)}
	p.recent = append(p.recent, taken)
	return taken, 0
}

// giveBack returns some of the orders that were taken together and not sent.
func (p *railPace) giveBack(taken takenOrders, unused int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, t := range p.recent {
		if t.at.Equal(taken.at) {
			returned := min(unused, t.orders)
			p.recent[i].orders -= returned
			unused -= returned
		}
	}
}
