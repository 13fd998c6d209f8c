package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"parapet/jobs/rail"
)

// probeInquiryKey is a key that no payout has: an inquiry about it tests whether a rail
// is reachable and changes nothing.
const probeInquiryKey = "probe"

// gateDelays is how long the gate stays closed after each failed connection in a row; the
// last value repeats.
var gateDelays = []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second}

// railGate keeps payouts in the queue, without writing to the database, while their rail
// is unreachable: an outage of a week must not cost one attempt and two events per payout
// every minute. It is safe for concurrent use; nil never closes.
type railGate struct {
	now func() time.Time

	mu          sync.Mutex
	failures    int // in a row
	closedUntil time.Time
}

func newRailGate(now func() time.Time) *railGate { return &railGate{now: now} }

// waitTime returns how long a payout has to wait; zero lets it proceed. When the delay is
// over, one caller probes the rail and the others keep waiting.
func (gate *railGate) waitTime(ctx context.Context, to rail.Rail) time.Duration {
	if gate == nil {
		return 0
	}
	gate.mu.Lock()
	left := gate.closedUntil.Sub(gate.now())
	ask := gate.failures > 0 && left <= 0
	if ask {
		left = gate.closeGate()
	}
	gate.mu.Unlock()
	if !ask {
		return max(0, left)
	}
	asked, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	result := to.Inquire(asked, probeInquiryKey)
	if result.Outcome == rail.NotSent {
		return left
	}
	gate.recordResult(result)
	return 0
}

// ownCodes are the codes of orders that we did not send for our own reasons.
var ownCodes = []string{rail.CodeExpired, codeStopped, codeNotPermitted}

// recordResult opens or closes the gate after a call.
func (gate *railGate) recordResult(result rail.Result) {
	if gate == nil || slices.Contains(ownCodes, result.Code) {
		return
	}
	gate.mu.Lock()
	defer gate.mu.Unlock()
	if result.Outcome != rail.NotSent {
		gate.failures, gate.closedUntil = 0, time.Time{}
		return
	}
	if gate.closedUntil.Before(gate.now()) { // otherwise the call began before the gate closed
		gate.closeGate()
	}
}

func (gate *railGate) closeGate() time.Duration {
	delay := gateDelays[min(gate.failures, len(gateDelays)-1)]
	gate.failures++
	gate.closedUntil = gate.now().Add(delay)
	return delay
}
