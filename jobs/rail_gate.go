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

// gateDelays is how long the gate stays closed each time in a row; the last value repeats.
var gateDelays = []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second}

// maxDoubts is how many orders in a row may be in doubt before the gate closes.
const maxDoubts = 10

// railGate keeps payouts in the queue, without writing to the database, while their rail
// is unreachable, or answers so that every order is in doubt: an outage of a week must not
// cost one attempt and two events per payout every minute, nor put a whole storm in doubt.
// It is safe for concurrent use; nil never closes.
type railGate struct {
	now func() time.Time

	mu          sync.Mutex
	failures    int // how often it closed in a row
	doubts      int // orders in doubt in a row
	closedUntil time.Time
}

func newRailGate(now func() time.Time) *railGate { return &railGate{now: now} }

// waitTime returns how long a payout has to wait; zero lets it proceed. When the delay is
// over, one caller probes the rail and the others keep waiting. If the probe's answer says
// nothing, that caller alone proceeds.
func (gate *railGate) waitTime(ctx context.Context, to rail.Rail) time.Duration {
	if gate == nil {
		return 0
	}
	gate.mu.Lock()
	left := gate.closedUntil.Sub(gate.now())
	ask, doubtful := gate.failures > 0 && left <= 0, gate.doubts >= maxDoubts
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
	switch {
	case result.Outcome == rail.NotSent:
		return left
	case result.Outcome == rail.Unknown && doubtful:
		return 0
	}
	gate.recordResults(result)
	return 0
}

// ownCodes are the codes of orders that we did not send for our own reasons.
var ownCodes = []string{rail.CodeExpired, codeStopped, codeNotPermitted}

// recordResults opens or closes the gate after a call, which has a result for each order.
func (gate *railGate) recordResults(results ...rail.Result) {
	results = slices.DeleteFunc(slices.Clone(results), func(r rail.Result) bool { return slices.Contains(ownCodes, r.Code) })
	if gate == nil || len(results) == 0 {
		return
	}
	unsent := slices.ContainsFunc(results, func(r rail.Result) bool { return r.Outcome == rail.NotSent })
	certain := slices.ContainsFunc(results, func(r rail.Result) bool { return r.Outcome != rail.Unknown })
	gate.mu.Lock()
	defer gate.mu.Unlock()
	if certain {
		gate.doubts = 0
	} else {
		gate.doubts += len(results)
	}
	switch {
	case !unsent && gate.doubts < maxDoubts:
		gate.failures, gate.closedUntil = 0, time.Time{}
	case gate.closedUntil.Before(gate.now()): // otherwise the call began before the gate closed
		gate.closeGate()
	}
}

func (gate *railGate) closeGate() time.Duration {
	delay := gateDelays[min(gate.failures, len(gateDelays)-1)]
	gate.failures++
	gate.closedUntil = gate.now().Add(delay)
	return delay
}
