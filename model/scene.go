package model

import (
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/internal/adjudicate"
	"parapet/model/trigger"
)

// scene is something that happened, or might, as it is looked at: what the
// matcher decides by, read without deciding. eyes is the partner whose policies
// are looked at, empty for everybody's.
type scene struct {
	happening // for rain the row alone: each policy has a window of its own

	eyes string
	now  time.Time
	mere bool      // it did not happen
	rain *rainfall // of rain only

	claims map[uuid.UUID]*claimRow // by policy: the claim made of it
}

// rainfall is what was measured at a gauge.
type rainfall struct {
	gauge

	rows  []observationRow // by day
	last  time.Time        // the last day of the window that is looked at; as if, of the days given
	taken map[uuid.UUID][]takenWindow
}

// verdict is what a scene means for a policy.
type verdict struct {
	policy   *policyRow
	facts    trigger.Occurrence
	d        trigger.Determination
	decision adjudicate.Decision // what would be decided now
	late     bool                // met, but its reporting window is over
	shares   *time.Time          // the last day of a claimed window that shares days with this one
	claim    *claimRow
}

// touched tells whether something was measured at the policy's place in the time
// of its cover, or a claim was made.
func (v *verdict) touched() bool {
	switch v.d.Reason {
	case trigger.OutsidePeriod, trigger.OutsidePlace:
		return v.claim != nil
	case trigger.ThresholdMet, trigger.ThresholdNotMet, trigger.WaitingPeriod:
	}
	return true
}

// payable is what the policy pays: what its claim was granted, or would be.
func (v *verdict) payable() int64 {
	switch {
	case v.claim == nil:
		return v.decision.Amount
	case v.claim.Amount == nil || !v.claim.counts():
		return 0
	default:
		return *v.claim.Amount
	}
}

// verdicts judges a policy by the rules of the matcher: one verdict, or one for
// each window of rain that would pay.
func (sc *scene) verdicts(p *policyRow) []verdict {
	var list []verdict
	left := p.LimitRemaining
	for _, facts := range sc.seenBy(p) {
		v := verdict{policy: p, facts: facts, claim: sc.claims[p.ID]}
		v.d = trigger.Evaluate(p.Cover, p.covered(), p.PayableFrom, facts)
		if v.d.OccurredAt.IsZero() { // the policy looks at another kind of event
			v.d.OccurredAt = sc.row.OccurredAt
		}
		weighed := p.weigh(facts, v.d)
		weighed.Remaining = left
		v.late = weighed.Met && !p.opens(v.d, sc.now)
		if last, shares := sc.shares(p); shares && weighed.Met && v.claim == nil {
			v.shares, weighed.Same = &last, true
		}
		if v.late {
			weighed.Met, weighed.Reason = false, string(trigger.OutsidePeriod)
		}
		v.decision = adjudicate.Decide(weighed)
		left -= v.decision.Amount
		list = append(list, v)
	}
	return list
}

// seenBy are the facts as a policy's term looks at them.
func (sc *scene) seenBy(p *policyRow) []trigger.Occurrence {
	if sc.rain == nil {
		return []trigger.Occurrence{sc.facts}
	}
	key := windowKey{sc.rain.gauge, sc.rain.last, p.Cover.Trigger.Days}
	var seen []trigger.Occurrence
	if sc.mere && p.Station != nil && *p.Station == sc.rain.station {
		for _, w := range sc.rain.paying(p, rainOf(sc.rain.rows), sc.rain.taken[p.ID]) {
			of := key
			of.last = w.Last()
			seen = append(seen, of.facts(sc.rain.rows))
		}
	}
	if len(seen) == 0 {
		seen = append(seen, key.facts(sc.rain.rows))
	}
	return seen
}

// shares tells whether the window shares days with another one that was claimed.
func (sc *scene) shares(p *policyRow) (time.Time, bool) {
	if sc.rain == nil || sc.mere {
		return time.Time{}, false
	}
	return windowKey{sc.rain.gauge, sc.rain.last, p.Cover.Trigger.Days}.sharing(sc.rain.taken[p.ID])
}

// own narrows a query to what is looked at.
func (sc *scene) own(q *bun.SelectQuery) *bun.SelectQuery {
	if sc.eyes != "" {
		return q.Where("?TableAlias.partner = ?", sc.eyes)
	}
	return q
}
