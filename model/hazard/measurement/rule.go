package measurement

import (
	"cmp"
	"slices"

	"github.com/shopspring/decimal"

	"parapet/model/hazard/trigger"
)

// applyRule returns the rank that a rule selects among readings in order of rank, -1 when
// it selects none.
func applyRule(rule trigger.MeasurementRule, readings []Reading) int {
	if len(readings) == 0 {
		return -1
	}
	byAmount := func(a, b Reading) int { return cmp.Compare(a.Determination.Amount, b.Determination.Amount) }
	switch rule.Kind {
	case trigger.FirstOf:
		return readings[0].Rank
	case trigger.WorstOf:
		return slices.MinFunc(readings, byAmount).Rank // of equal amounts the highest rank
	case trigger.BestOf:
		return slices.MaxFunc(readings, byAmount).Rank
	case trigger.MOfN:
		return applyAgreement(rule, readings)
	}
	return -1
}

// agreement is a set of readings that agree.
type agreement struct {
	readings []Reading // by index, then rank
	spread   decimal.Decimal
}

// applyAgreement returns the rank of the middle reading of the largest set of at least m
// readings that agree. Of equally large sets the one with the smaller spread counts, then
// the one with the higher rank.
func applyAgreement(rule trigger.MeasurementRule, readings []Reading) int {
	best := agreement{}
	for _, set := range agreements(rule, readings) {
		if len(set.readings) >= rule.M && (best.readings == nil || set.compareTo(best) < 0) {
			best = set
		}
	}
	if best.readings == nil {
		return -1
	}
	return best.middle()
}

// agreements returns the largest set of agreeing readings from each smallest index on, and
// the readings that measured nothing in the place: these agree only with one another.
func agreements(rule trigger.MeasurementRule, readings []Reading) (sets []agreement) {
	tolerance := toleranceOf(rule)
	var measured, outside []Reading
	for _, r := range readings {
		switch d := r.Determination; {
		case d.Index != nil:
			measured = append(measured, r)
		case d.Reason == trigger.OutsidePlace:
			outside = append(outside, r)
		}
	}
	slices.SortFunc(measured, func(a, b Reading) int {
		return cmp.Or(a.Determination.Index.Cmp(*b.Determination.Index), a.Rank-b.Rank)
	})
	for first := range measured {
		end := first + 1 // a reading agrees with itself
		for end < len(measured) && spreadOf(measured[first:end+1]).LessThanOrEqual(tolerance) {
			end++
		}
		sets = append(sets, agreement{measured[first:end], spreadOf(measured[first:end])})
	}
	if len(outside) > 0 {
		sets = append(sets, agreement{readings: outside})
	}
	return sets
}

func toleranceOf(rule trigger.MeasurementRule) decimal.Decimal {
	if rule.Tolerance == nil {
		return decimal.Zero
	}
	tolerance, err := decimal.NewFromString(rule.Tolerance.Value)
	if err != nil { // impossible in valid terms
		return decimal.Zero
	}
	return tolerance
}

// spreadOf returns the difference of the largest and the smallest index of readings that
// are sorted by it.
func spreadOf(sorted []Reading) decimal.Decimal {
	return sorted[len(sorted)-1].Determination.Index.Sub(*sorted[0].Determination.Index)
}

// compareTo is negative when the set takes precedence over another one.
func (s agreement) compareTo(other agreement) int {
	return cmp.Or(len(other.readings)-len(s.readings), s.spread.Cmp(other.spread), slices.Compare(s.ranks(), other.ranks()))
}

func (s agreement) ranks() (ranks []int) {
	for _, r := range s.readings {
		ranks = append(ranks, r.Rank)
	}
	slices.Sort(ranks)
	return ranks
}

// middle returns the rank of the middle reading, of two the higher-ranked. Of readings with
// the same index as a middle one, the highest rank represents them.
func (s agreement) middle() int {
	n := len(s.readings)
	if s.readings[0].Determination.Index == nil {
		return s.ranks()[0]
	}
	low, high := s.readings[(n-1)/2].Determination.Index, s.readings[n/2].Determination.Index
	rank := s.readings[n/2].Rank
	for _, r := range s.readings {
		if index := r.Determination.Index; (index.Equal(*low) || index.Equal(*high)) && r.Rank < rank {
			rank = r.Rank
		}
	}
	return rank
}
