package model

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/internal/adjudicate"
	"parapet/model/trigger"
)

// scene is something that happened, or might, as it is looked at: what the
// matcher decides by, read without deciding. eyes is the partner whose policies
// are looked at, empty for everybody's.
type scene struct {
	happening // for as-if rain the row alone: what it is depends on a policy's definition

	eyes string
	now  time.Time
	mere bool          // it did not happen
	rain *supposedRain // of as-if rain only

	claims map[uuid.UUID]*claimRow // by policy: the claim made of it
	paid   map[uuid.UUID][]paidRun // by policy: days at stations that were paid for
}

// supposedRain is days at a station on top of what was reported there.
type supposedRain struct {
	station
	given trigger.DayRun // from the first supposed day to the last
	days  []hazard.Day   // reported and supposed, in order
}

// occurrences are those of a definition that the supposed days make or change. Dry days
// are supposed behind the last day that is known, so that a spell ends; without any
// spell it is one without days.
func (r *supposedRain) occurrences(d trigger.Definition) []trigger.RainOccurrence {
	days := slices.Clip(r.days)
	for next := days[len(days)-1].Date.AddDate(0, 0, 1); len(days) < len(r.days)+d.DryDays; next = next.AddDate(0, 0, 1) {
		days = append(days, hazard.Day{Date: next})
	}
	found := slices.DeleteFunc(d.Occurrences(r.name, days), func(o trigger.RainOccurrence) bool { return !o.Run().Overlaps(r.given) })
	if len(found) == 0 {
		found = append(found, trigger.RainOccurrence{Station: r.name, Definition: d, First: r.given.First, Last: r.given.Last, After: days})
	}
	return found
}

// verdict is what a scene means for a policy.
type verdict struct {
	policy   *policyRow
	facts    trigger.Occurrence
	d        trigger.Determination
	decision adjudicate.Decision // what would be decided now
	late     bool                // met, but its reporting window is over
	claim    *claimRow
}

// touched tells whether something was measured at the policy's place in the time
// of its cover, or a claim was made.
func (v *verdict) touched() bool {
	switch v.d.Reason {
	case trigger.OutsidePeriod, trigger.OutsidePlace:
		return v.claim != nil
	case trigger.ThresholdMet, trigger.ThresholdNotMet, trigger.WaitingPeriod, trigger.EvidenceNeeded, trigger.SourcePreliminary:
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
// each occurrence of as-if rain that would pay.
func (sc *scene) verdicts(p *policyRow) []verdict {
	var list []verdict
	left := p.LimitRemaining
	for _, facts := range sc.seenBy(p) {
		v := verdict{policy: p, facts: facts, claim: sc.claims[p.ID]}
		v.d = trigger.Evaluate(p.Cover, p.covered(), p.PayableFrom, facts)
		if v.d.OccurredAt.IsZero() { // the policy looks at another kind of event
			v.d.OccurredAt = sc.row.OccurredAt
		}
		weighed := p.weigh(v.d)
		weighed.Remaining = left
		v.late = weighed.Met && !p.opens(v.d, sc.now)
		if v.late {
			weighed.Met, weighed.Reason = false, string(trigger.OutsidePeriod)
		}
		v.decision = adjudicate.Decide(weighed)
		left -= v.decision.Amount
		list = append(list, v)
	}
	return list
}

// seenBy are the facts as a policy's term looks at them: of as-if rain those that would
// pay, or the last ones when none would.
func (sc *scene) seenBy(p *policyRow) []trigger.Occurrence {
	if sc.rain == nil {
		return []trigger.Occurrence{sc.row.withoutPaid(sc.facts, sc.paid[p.ID])}
	}
	var all, paying []trigger.Occurrence
	for _, o := range sc.rain.occurrences(p.Cover.Trigger.Definition()) {
		facts := trigger.Occurrence{
			Source: sc.row.Source, SourceEventID: sc.rain.eventID(o.First), SourceVersion: sc.row.SourceVersion, Stage: trigger.Final, Rain: &o,
		}
		facts = sc.row.withoutPaid(facts, sc.paid[p.ID])
		all = append(all, facts)
		if trigger.Evaluate(p.Cover, p.covered(), p.PayableFrom, facts).Met {
			paying = append(paying, facts)
		}
	}
	if len(paying) > 0 {
		return paying
	}
	return all[len(all)-1:]
}

// own narrows a query to what is looked at.
func (sc *scene) own(q *bun.SelectQuery) *bun.SelectQuery {
	if sc.eyes != "" {
		return q.Where("?TableAlias.partner = ?", sc.eyes)
	}
	return q
}
