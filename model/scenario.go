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

// Scenario is a recorded or hypothetical occurrence being evaluated. partnerScope limits
// the policies; empty means all.
type Scenario struct {
	loadedOccurrence // for as-if rain the row alone: what it is depends on a policy's definition

	partnerScope     string
	now              time.Time
	hypothetical     bool              // it did not happen
	hypotheticalRain *hypotheticalRain // of as-if rain only

	claims   map[uuid.UUID]*claimRow  // by policy: the claim made of it
	paidRuns map[uuid.UUID][]paidDays // by policy: days at stations that were paid for
}

// hypotheticalRain adds hypothetical days to the reported days of a station.
type hypotheticalRain struct {
	station
	span trigger.DayRun // from the first supposed day to the last
	days []hazard.Day   // reported and supposed, in order
}

// findOccurrences are those of a definition that the supposed days make or change. Dry days
// are supposed behind the last day that is known, so that a spell ends; without any
// spell it is one without days.
func (r *hypotheticalRain) findOccurrences(d trigger.Definition) []trigger.RainOccurrence {
	days := slices.Clip(r.days)
	for next := days[len(days)-1].Date.AddDate(0, 0, 1); len(days) < len(r.days)+d.DryDays; next = next.AddDate(0, 0, 1) {
		days = append(days, hazard.Day{Date: next})
	}
	found := slices.DeleteFunc(d.Occurrences(r.name, days), func(o trigger.RainOccurrence) bool { return !o.Run().Overlaps(r.span) })
	if len(found) == 0 {
		found = append(found, trigger.RainOccurrence{Station: r.name, Definition: d, First: r.span.First, Last: r.span.Last, After: days})
	}
	return found
}

// Evaluation is what a scenario means for one policy.
type Evaluation struct {
	policy        *policyRow
	facts         trigger.Occurrence
	determination trigger.Determination
	decision      adjudicate.Decision // what would be decided now
	isTooLate     bool                // met, but its reporting window is over
	claim         *claimRow
}

// isAffected reports whether something was measured at the policy's place during its
// cover, or a claim exists.
func (v *Evaluation) isAffected() bool {
	switch v.determination.Reason {
	case trigger.OutsidePeriod, trigger.OutsidePlace:
		return v.claim != nil
	case trigger.ThresholdMet, trigger.ThresholdNotMet, trigger.WaitingPeriod, trigger.EvidenceNeeded, trigger.SourcePreliminary:
	}
	return true
}

// payableAmount is what the policy pays: what its claim was granted, or would be.
func (v *Evaluation) payableAmount() int64 {
	switch {
	case v.claim == nil:
		return v.decision.Amount
	case v.claim.Amount == nil || !v.claim.isActive():
		return 0
	default:
		return *v.claim.Amount
	}
}

// evaluatePolicy judges a policy by the rules of the matcher: one verdict, or one for
// each occurrence of as-if rain that would pay.
func (sc *Scenario) evaluatePolicy(p *policyRow) []Evaluation {
	var list []Evaluation
	left := p.LimitRemaining
	for _, facts := range sc.factsForPolicy(p) {
		v := Evaluation{policy: p, facts: facts, claim: sc.claims[p.ID]}
		v.determination = trigger.Evaluate(p.Cover, p.coverPeriod(), p.PayableFrom, facts)
		if v.determination.OccurredAt.IsZero() { // the policy looks at another kind of event
			v.determination.OccurredAt = sc.row.OccurredAt
		}
		weighed := p.decisionFacts(v.determination)
		weighed.Remaining = left
		v.isTooLate = weighed.Met && !p.opensClaim(v.determination, sc.now)
		if v.isTooLate {
			weighed.Met, weighed.Reason = false, string(trigger.OutsidePeriod)
		}
		v.decision = adjudicate.Decide(weighed)
		left -= v.decision.Amount
		list = append(list, v)
	}
	return list
}

// factsForPolicy are the facts as a policy's term looks at them: of as-if rain those that would
// pay, or the last ones when none would.
func (sc *Scenario) factsForPolicy(p *policyRow) []trigger.Occurrence {
	if sc.hypotheticalRain == nil {
		return []trigger.Occurrence{sc.row.withoutPaidDays(sc.facts, sc.paidRuns[p.ID])}
	}
	var all, paying []trigger.Occurrence
	for _, o := range sc.hypotheticalRain.findOccurrences(p.Cover.Trigger.Definition()) {
		facts := trigger.Occurrence{
			Source: sc.row.Source, SourceEventID: sc.hypotheticalRain.eventID(o.First), SourceVersion: sc.row.SourceVersion, Stage: trigger.Final, Rain: &o,
		}
		facts = sc.row.withoutPaidDays(facts, sc.paidRuns[p.ID])
		all = append(all, facts)
		if trigger.Evaluate(p.Cover, p.coverPeriod(), p.PayableFrom, facts).Met {
			paying = append(paying, facts)
		}
	}
	if len(paying) > 0 {
		return paying
	}
	return all[len(all)-1:]
}

// restrictToScope narrows a query to what is looked at.
func (sc *Scenario) restrictToScope(q *bun.SelectQuery) *bun.SelectQuery {
	if sc.partnerScope != "" {
		return q.Where("?TableAlias.partner = ?", sc.partnerScope)
	}
	return q
}
