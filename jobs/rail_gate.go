package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"parapet/jobs/rail"
)

// probeKey is a key that no payout has: an inquiry about it shows whether a rail can be
// reached and changes nothing.
const probeKey = "probe"

// gateDelays is how long nothing is sent after each call in a row that reached nobody;
// the last one repeats.
var gateDelays = []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second}

// railGate keeps payouts waiting in the queue, without a trace in the database, while
// their rail cannot be reached: a bank that is closed for a week must not cost an
// attempt and two events a payout every minute. It is safe for concurrent use; nil
// never closes.
type railGate struct {
	now func() time.Time

	mu       sync.Mutex
	failures int // in a row
	until    time.Time
}

func newRailGate(now func() time.Time) *railGate { return &railGate{now: now} }

// wait is how long a payout has to wait; zero lets it go. Behind a gate that has been
// closed for its time one caller asks whether the rail is back and the others wait on.
func (g *railGate) wait(ctx context.Context, to rail.Rail) time.Duration {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	left := g.until.Sub(g.now())
	ask := g.failures > 0 && left <= 0
	if ask {
		left = g.close()
	}
	g.mu.Unlock()
	if !ask {
		return max(0, left)
	}
	asked, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	result := to.Inquire(asked, probeKey)
	if result.Outcome == rail.NotSent {
		return left
	}
	g.observe(result)
	return 0
}

// notRails are the codes of orders that were not sent for a reason of ours.
var notRails = []string{rail.CodeExpired, codeStopped, codeNotPermitted}

// observe opens or closes the gate after a call.
func (g *railGate) observe(result rail.Result) {
	if g == nil || slices.Contains(notRails, result.Code) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if result.Outcome != rail.NotSent {
		g.failures, g.until = 0, time.Time{}
		return
	}
	if g.until.Before(g.now()) { // else a call that began before it was closed
		g.close()
	}
}

func (g *railGate) close() time.Duration {
	delay := gateDelays[min(g.failures, len(gateDelays)-1)]
	g.failures++
	g.until = g.now().Add(delay)
	return delay
}
