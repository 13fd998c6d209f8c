package scenario

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/internal/rules"
	"parapet/model/underwriting"
)

// Scenario is a recorded or hypothetical occurrence being evaluated. partnerScope limits
// the policies; empty means all.
type Scenario struct {
	occurrence.LoadedOccurrence // for hypothetical days the row alone: the facts depend on a policy's definition

	partnerScope     string
	now              time.Time
	hypothetical     bool              // it did not happen
	hypotheticalDays *hypotheticalDays // only for hypothetical days at a station

	claims   map[uuid.UUID]*claims.ClaimRow  // by policy: the claim opened for it
	paidRuns map[uuid.UUID][]claims.PaidDays // by policy: paid days at stations
}

// hypotheticalDays adds hypothetical days to the reported days of a station.
type hypotheticalDays struct {
	occurrence.Station
	peril hazard.Peril           // whose measures the hypothetical days have
	span  trigger.DayRun         // from the first hypothetical day to the last
	days  occurrence.StationDays // reported and hypothetical days, in order
}

// findOccurrences returns the occurrences of a definition that the hypothetical days
// create or change. It adds dry days after the last known day, so that a spell ends;
// without any occurrence it returns one without days.
func (r *hypotheticalDays) findOccurrences(d trigger.Definition) []trigger.StationOccurrence {
	days := r.days.MeasuredDays(d, false)
	if last := len(days) - 1; last >= 0 {
		for i := range d.DryDays() {
			days = append(days, d.NewDay(days[last].Date.AddDate(0, 0, i+1), decimal.Zero))
		}
	}
	found := slices.DeleteFunc(d.Occurrences(r.Name, days), func(o trigger.StationOccurrence) bool { return !o.Run().Overlaps(r.span) })
	if len(found) == 0 {
		found = append(found, trigger.StationOccurrence{Station: r.Name, Definition: d, First: r.span.First, Last: r.span.Last, After: days})
	}
	return found
}

// Evaluation is the result of a scenario for one policy.
type Evaluation struct {
	policy        *underwriting.PolicyRow
	facts         trigger.Occurrence
	determination trigger.Determination
	decision      rules.Decision // the decision that would be made now
	isTooLate     bool           // trigger met, but the reporting window has ended
	claim         *claims.ClaimRow
}

// isAffected reports whether the policy's place has a measurement during its cover, or
// a claim exists.
func (v *Evaluation) isAffected() bool {
	switch v.determination.Reason {
	case trigger.OutsidePeriod, trigger.OutsidePlace, trigger.SourceNotNamed:
		return v.claim != nil
	case trigger.ThresholdMet, trigger.ThresholdNotMet, trigger.WaitingPeriod, trigger.EvidenceNeeded, trigger.SourcePreliminary:
	}
	return true
}

// payableAmount returns the amount that the policy pays: the amount of its claim,
// granted or expected.
func (v *Evaluation) payableAmount() int64 {
	switch {
	case v.claim == nil:
		return v.decision.Amount
	case v.claim.Amount == nil || !adjudication.IsActive(v.claim):
		return 0
	default:
		return *v.claim.Amount
	}
}

// evaluate returns the trigger function of the scenario: what did not happen has no source,
// and every policy is evaluated as if its own sources had reported it.
func (sc *Scenario) evaluate() func(trigger.Cover, trigger.Period, time.Time, trigger.Occurrence) trigger.Determination {
	if sc.hypothetical {
		return trigger.Evaluate
	}
	return trigger.EvaluateReport
}

// evaluatePolicy evaluates a policy by the rules of the matcher. It returns one
// evaluation, or for hypothetical days one for each occurrence that would pay.
func (sc *Scenario) evaluatePolicy(p *underwriting.PolicyRow) []Evaluation {
	var list []Evaluation
	left := p.LimitRemaining
	for _, facts := range sc.factsForPolicy(p) {
		v := Evaluation{policy: p, facts: facts, claim: sc.claims[p.ID]}
		v.determination = sc.evaluate()(p.Cover, p.CoverPeriod(), p.PayableFrom, facts)
		if v.determination.OccurredAt.IsZero() { // the policy covers another kind of event
			v.determination.OccurredAt = sc.Row.OccurredAt
		}
		weighed := adjudication.DecisionFacts(p, v.determination)
		weighed.Remaining = left
		v.isTooLate = weighed.Met && !adjudication.OpensClaim(p, v.determination, sc.now)
		if v.isTooLate {
			weighed.Met, weighed.Reason = false, string(trigger.OutsidePeriod)
		}
		v.decision = rules.Decide(weighed)
		left -= v.decision.Amount
		list = append(list, v)
	}
	return list
}

// factsForPolicy returns the facts as a policy's term measures them: for hypothetical
// days those that would pay, or the last ones if none would.
func (sc *Scenario) factsForPolicy(p *underwriting.PolicyRow) []trigger.Occurrence {
	if sc.hypotheticalDays == nil {
		return []trigger.Occurrence{claims.WithoutPaidDays(sc.Row, sc.Facts, sc.paidRuns[p.ID])}
	}
	definition := p.Cover.Trigger.Definition()
	if definition == nil { // the policy covers nothing at a station
		return []trigger.Occurrence{sc.Facts}
	}
	var all, paying []trigger.Occurrence
	for _, o := range sc.hypotheticalDays.findOccurrences(definition) {
		facts := trigger.Occurrence{
			Source: sc.Row.Source, SourceEventID: sc.hypotheticalDays.EventID(o.First), SourceVersion: sc.Row.SourceVersion, Stage: trigger.Final, AtStation: &o,
		}
		facts = claims.WithoutPaidDays(sc.Row, facts, sc.paidRuns[p.ID])
		all = append(all, facts)
		if sc.evaluate()(p.Cover, p.CoverPeriod(), p.PayableFrom, facts).Met {
			paying = append(paying, facts)
		}
	}
	if len(paying) > 0 {
		return paying
	}
	return all[len(all)-1:]
}

// restrictToScope restricts a query to the policies of the scenario's partner.
func (sc *Scenario) restrictToScope(q *bun.SelectQuery) *bun.SelectQuery {
	if sc.partnerScope != "" {
		return q.Where("?TableAlias.partner = ?", sc.partnerScope)
	}
	return q
}
