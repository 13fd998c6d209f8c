package measurement

import (
	"slices"
	"time"

	"parapet/model/hazard/trigger"
)

// Reading is what one source reports of an event.
type Reading struct {
	Rank          int                   // of its source in the terms
	Determination trigger.Determination // of its occurrence alone
	Counts        bool                  // it has the stage from which its source counts
	CountedAt     time.Time             // when it first had that stage, if it counts
	EndedAt       time.Time             // the end of the occurrence by this source
}

// State is how far a measurement has come.
type State string

const (
	// Waiting: the rule may select a source until DueAt.
	Waiting State = "waiting"
	// Selected: the determination of the selected source counts.
	Selected State = "selected"
	// Operator: an operator determines, by evidence.
	Operator State = "operator"
	// Stopped: the long stop came before a source was selected.
	Stopped State = "stopped"
)

// Outcome is the result of Select.
type Outcome struct {
	State    State
	Selected int   // rank of the selected source; -1 without one
	Used     []int // ranks of the readings that the rule used, ascending
	Fallback bool  // the source was selected by the fallback
	// DueAt is when Select may give another result without a new report: the deadline or
	// the long stop. Zero for Selected, Operator and Stopped.
	DueAt      time.Time
	DeadlineAt time.Time // the end of the wait
	LongStopAt time.Time
}

// Select applies the terms to the readings at an instant. The terms must be valid; there is
// at most one reading of each rank and at least one. Times count from the latest end of the
// occurrence that any source gave. It is a pure function and independent of the order of
// the readings.
func Select(terms trigger.Measurement, readings []Reading, now time.Time) Outcome {
	var end time.Time
	for _, r := range readings {
		if r.EndedAt.After(end) {
			end = r.EndedAt
		}
	}
	o := Outcome{Selected: -1, DeadlineAt: after(end, terms.Wait), LongStopAt: after(end, terms.LongStop)}
	counted := slices.DeleteFunc(slices.Clone(readings), func(r Reading) bool { return !r.Counts })
	slices.SortFunc(counted, func(a, b Reading) int { return a.Rank - b.Rank })
	inTime := slices.DeleteFunc(slices.Clone(counted), func(r Reading) bool { return !r.CountedAt.Before(o.DeadlineAt) })
	waits := now.Before(o.DeadlineAt)
	if !waits || len(inTime) == len(terms.Sources) || terms.Rule.Kind == trigger.FirstOf && len(inTime) > 0 && inTime[0].Rank == 0 {
		if rank := applyRule(terms.Rule, inTime); rank >= 0 {
			return o.selects(rank, inTime)
		}
	}
	if waits {
		o.State, o.DueAt = Waiting, o.DeadlineAt
		return o
	}
	return o.fallBack(terms, counted, now)
}

// fallBack applies the fallback after the deadline to all readings that count, late ones
// too. Those after the long stop do not count.
func (o Outcome) fallBack(terms trigger.Measurement, counted []Reading, now time.Time) Outcome {
	counted = slices.DeleteFunc(counted, func(r Reading) bool { return !r.CountedAt.Before(o.LongStopAt) })
	rank := -1
	switch {
	case terms.Fallback == trigger.FallbackOperator:
		o.State = Operator
		return o
	case terms.Fallback == trigger.FallbackNextRank && len(counted) > 0:
		// The first to report, then the highest rank: a later report of a higher rank finds
		// the claim decided.
		rank = slices.MinFunc(counted, func(a, b Reading) int {
			if c := later(a.CountedAt, o.DeadlineAt).Compare(later(b.CountedAt, o.DeadlineAt)); c != 0 {
				return c
			}
			return a.Rank - b.Rank
		}).Rank
	case terms.Fallback == trigger.FallbackNone:
		rank = applyRule(terms.Rule, counted)
	}
	switch {
	case rank >= 0:
		o.Fallback = true
		return o.selects(rank, counted)
	case now.Before(o.LongStopAt):
		o.State, o.DueAt = Waiting, o.LongStopAt
	default:
		o.State = Stopped
	}
	return o
}

func (o Outcome) selects(rank int, used []Reading) Outcome {
	o.State, o.Selected = Selected, rank
	for _, r := range used {
		o.Used = append(o.Used, r.Rank)
	}
	return o
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// after adds a duration of valid terms.
func after(t time.Time, iso string) time.Time {
	moved, err := trigger.AddDuration(t, iso)
	if err != nil {
		return t
	}
	return moved
}
