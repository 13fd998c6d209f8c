package trigger

import (
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Definition defines an occurrence at a station: a wet spell or a calendar period.
// Policies with the same definition share its occurrences.
type Definition interface {
	// String returns the definition as stored in the database and parsed by
	// ParseDefinition.
	String() string
	// Calendar returns the period that counts as a whole or not at all; empty if the days
	// of an occurrence count one by one.
	Calendar() Calendar
	// DryDays returns the number of known days after the last one that decide whether the
	// occurrence is over.
	DryDays() int
	// Grows reports whether the index only grows with each day: part of it may be paid
	// before the occurrence is over.
	Grows() bool
	// Value returns the value of a day that counts; nil if it was not measured.
	Value(day hazard.Day) *decimal.Decimal
	// NewDay returns a day on which only that value was measured.
	NewDay(date time.Time, value decimal.Decimal) hazard.Day
	// FirstDay returns the first day that can count in a cover that begins at from and pays
	// from payableFrom on.
	FirstDay(from, payableFrom time.Time) time.Time
	// Occurrences returns the occurrences at a station, in order of time, from its days,
	// which must be in order of date, each once, at midnight UTC. A missing day, and one
	// without the value, is unknown.
	Occurrences(station string, days []hazard.Day) []StationOccurrence
	// LargestIndex returns a bound of the index: no cover that counts the given number of
	// days has a larger one for the occurrence.
	LargestIndex(o StationOccurrence, days int) decimal.Decimal

	isOver(o StationOccurrence) bool
	isFinal(o StationOccurrence) bool
	// evaluate considers the best measurement of the days that count for the cover.
	evaluate(e *evaluation, o StationOccurrence)
	// complete sets the stage of a determination and withdraws one that the known days do
	// not suffice for.
	complete(e *evaluation, d *Determination, o StationOccurrence)
}

// IsMeasured returns a function that reports whether a day has the value that counts; for
// nil, of terms that are not valid, none has.
func IsMeasured(d Definition) func(hazard.Day) bool {
	return func(day hazard.Day) bool { return d != nil && d.Value(day) != nil }
}

// measuredDays returns the days with the value that counts.
func measuredDays(d Definition, days []hazard.Day) []hazard.Day {
	measured := days[:0:0]
	for i := range days {
		if d.Value(days[i]) != nil {
			measured = append(measured, days[i])
		}
	}
	return measured
}

// Definition returns the definition of the trigger's occurrences at a station; nil for
// perils at other places.
func (t Trigger) Definition() Definition {
	if rules := t.Rules(); rules != nil && rules.define != nil {
		return rules.define(t)
	}
	return nil
}

// ParseDefinition parses the text of a definition; false for any other text.
func ParseDefinition(text string) (Definition, bool) {
	for _, rules := range perilRules {
		if rules.parseDefinition == nil {
			continue
		}
		if d, ok := rules.parseDefinition(text); ok {
			return d, true
		}
	}
	return nil, false
}

// StationOccurrence is one wet spell, month or dekad at a station.
type StationOccurrence struct {
	Station    string
	Definition Definition
	First      time.Time // a spell's first wet day, a period's first day; midnight UTC
	Last       time.Time // a spell's last wet day, a period's last day; midnight UTC
	// Days are the known days from First to Last, in order. A spell has all of them.
	Days []hazard.Day
	// After are known days after Last, in order: for a spell the first DryDays of them,
	// for a period the first one. They show whether the occurrence is over.
	After []hazard.Day
	// Ended is whether a month or dekad was found to be over by the clock, with days missing
	// that nothing reported after it.
	Ended bool
	// Paid are runs of days that other occurrences paid the policy for. They do not
	// count again.
	Paid []DayRun
}

// DayRun is a run of days, both ends included, each at midnight UTC.
type DayRun struct{ First, Last time.Time }

// Contains reports whether a day lies in the run.
func (r DayRun) Contains(day time.Time) bool { return !day.Before(r.First) && !day.After(r.Last) }

// Overlaps reports whether two runs share a day.
func (r DayRun) Overlaps(other DayRun) bool {
	return !r.Last.Before(other.First) && !other.Last.Before(r.First)
}

// Run returns the days from the first to the last.
func (o StationOccurrence) Run() DayRun { return DayRun{o.First, o.Last} }

// Missing returns the number of unknown days of a month or dekad.
func (o StationOccurrence) Missing() int {
	return int(o.Last.Sub(o.First)/oneDay) + 1 - len(o.Days)
}

// isNextDay reports whether no day is missing between two.
func isNextDay(day, next hazard.Day) bool { return next.Date.Sub(day.Date) == oneDay }

// oneDay is the length of a day in UTC, which has no daylight saving time.
const oneDay = 24 * time.Hour

// Hull returns the shortest run that contains both.
func (r DayRun) Hull(other DayRun) DayRun {
	if other.First.Before(r.First) {
		r.First = other.First
	}
	if other.Last.After(r.Last) {
		r.Last = other.Last
	}
	return r
}

// IsOver reports whether the source has reported what ends the occurrence: for a spell
// DryDays known days after it, for a month or dekad a day after it or all of its days.
func (o StationOccurrence) IsOver() bool { return o.Definition.isOver(o) }

// IsFinal reports whether the occurrence is over by final observations and none is
// missing.
func (o StationOccurrence) IsFinal() bool { return o.Definition.isFinal(o) }

// NextUnknown returns the first unknown day after the occurrence.
func (o StationOccurrence) NextUnknown() time.Time {
	next := o.Last.Add(oneDay)
	for _, day := range o.After {
		if !day.Date.Equal(next) {
			break
		}
		next = next.Add(oneDay)
	}
	return next
}

// HasFinalDays reports whether every known day is final.
func (o StationOccurrence) HasFinalDays() bool { return areFinal(o.Days) }

// evaluateStation evaluates an occurrence of the cover's own station and definition.
func (e *evaluation) evaluateStation(o StationOccurrence) {
	e.closestAt = o.Last
	if o.Station == e.cover.Place.Station && o.Definition.String() == e.cover.Trigger.Definition().String() {
		own := *e // on the heap, where e of the other perils need not be
		o.Definition.evaluate(&own, o)
		*e = own
	}
}

// timingOfDay returns ThresholdMet for a day that lies wholly in the cover and is
// payable, otherwise the reason why it does not pay.
func (e *evaluation) timingOfDay(day time.Time) Reason {
	switch {
	case day.Before(e.period.From) || day.Add(oneDay).After(e.period.To):
		return OutsidePeriod
	case day.Before(e.payableFrom):
		return WaitingPeriod
	default:
		return ThresholdMet
	}
}

func isPaid(paid []DayRun, day time.Time) bool {
	for _, run := range paid {
		if run.Contains(day) {
			return true
		}
	}
	return false
}

func (e *evaluation) considerDays(run DayRun, sum decimal.Decimal, timing Reason, at time.Time) {
	e.bestDays = run
	e.considerMeasurement(measurement{
		payoutReading: e.cover.Payout.readIndex(e.cover.Trigger.comparator(), sum, e.cover.Payout.Steps),
		index:         sum, at: at, timing: timing,
	})
}

func areFinal(days []hazard.Day) bool {
	for _, day := range days {
		if day.Preliminary {
			return false
		}
	}
	return true
}

// firstFullDay returns the first UTC day that begins at or after t.
func firstFullDay(t time.Time) time.Time {
	day := t.UTC().Truncate(oneDay)
	if day.Before(t) {
		return day.Add(oneDay)
	}
	return day
}
