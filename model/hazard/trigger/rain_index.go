package trigger

import (
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// evaluateRain evaluates a wet spell, month or dekad by the days that count for the
// cover.
func (e *evaluation) evaluateRain(o RainOccurrence) {
	e.closestAt = o.Last
	if o.Station != e.cover.Place.Station || o.Definition.String() != e.cover.Trigger.Definition().String() {
		return
	}
	if o.Definition.Calendar != "" {
		e.evaluateCalendar(o)
		return
	}
	e.evaluateSpell(o)
}

// evaluateSpell considers the largest sum of at most Trigger.Days consecutive days of a
// wet spell that lie in the cover after the waiting period. If there is none, it
// considers the largest sum of days in the waiting period, then of days outside the
// cover. A spell without any days left, because they were revised, has the index 0.
func (e *evaluation) evaluateSpell(o RainOccurrence) {
	if len(o.Days) == 0 {
		e.considerDays(DayRun{}, decimal.Zero, e.timingOfDay(o.Last), o.Last)
		return
	}
	for _, timing := range []Reason{ThresholdMet, WaitingPeriod, OutsidePeriod} {
		counts := func(day hazard.Day) bool { return e.timingOfDay(day.Date) == timing && !isPaid(o.Paid, day.Date) }
		if run, sum, found := largestSum(o.Days, e.cover.Trigger.Days, counts); found {
			e.considerDays(run, sum, timing, run.Last)
			return
		}
	}
	e.considerDays(DayRun{}, decimal.Zero, ThresholdMet, o.Last) // other occurrences paid for every day
}

// largestSum returns the first run of at most n consecutive counting days with the
// largest sum; false if no day counts.
func largestSum(days []hazard.Day, n int, counts func(hazard.Day) bool) (best DayRun, most decimal.Decimal, found bool) {
	var sum decimal.Decimal
	first := 0 // first of the summed days
	for i, day := range days {
		if !counts(day) {
			sum, first = decimal.Zero, i+1
			continue
		}
		if sum = sum.Add(day.PrecipitationMM); i-first == n {
			sum, first = sum.Sub(days[first].PrecipitationMM), first+1
		}
		if !found || sum.GreaterThan(most) {
			best, most, found = DayRun{days[first].Date, day.Date}, sum, true
		}
	}
	return best, most, found
}

func isPaid(paid []DayRun, day time.Time) bool {
	for _, run := range paid {
		if run.Contains(day) {
			return true
		}
	}
	return false
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

// evaluateCalendar considers the sum of a month or dekad, which counts as a whole or
// not at all.
func (e *evaluation) evaluateCalendar(o RainOccurrence) {
	timing := e.timingOfDay(o.First)
	if e.timingOfDay(o.Last) == OutsidePeriod {
		timing = OutsidePeriod
	}
	for _, day := range o.Days {
		if isPaid(o.Paid, day.Date) {
			timing = OutsidePeriod
		}
	}
	e.considerDays(o.Run(), o.Sum(), timing, o.Last)
}

func (e *evaluation) considerDays(run DayRun, sum decimal.Decimal, timing Reason, at time.Time) {
	e.bestDays = run
	e.considerMeasurement(measurement{
		payoutReading: e.cover.Payout.readIndex(e.cover.Trigger.comparator(), sum, e.cover.Payout.Steps),
		index:         sum, at: at, timing: timing,
	})
}

// completeRain completes a determination with the state of the days: their stage, and
// for a month or dekad that would pay whether the days suffice for a decision.
func (e *evaluation) completeRain(d *Determination, o RainOccurrence) {
	d.FirstDay, d.LastDay, d.Stage = e.bestDays.First, e.bestDays.Last, Preliminary
	if o.Definition.Calendar == "" {
		if e.isSpellOver(o) {
			d.Stage = Final
		}
		return
	}
	final := areFinal(o.Days)
	switch missing := o.Missing() > 0; {
	case final && !missing:
		d.Stage = Final
	case !d.Met:
	default:
		d.Met, d.Factor, d.Amount = false, decimal.Zero, 0
		d.Reason = SourcePreliminary
		if final && missing && len(o.After) > 0 {
			d.Reason = EvidenceNeeded
		}
	}
}

// isSpellOver reports whether no observation can change the cover's index any more:
// every counting day is final, and DryDays final drier days have passed or the next day
// lies outside the cover. A spell that a missing day ends is over when DryDays final
// days after it are known.
func (e *evaluation) isSpellOver(o RainOccurrence) bool {
	if len(o.Days) == 0 {
		return len(o.After) > 0 && areFinal(o.After)
	}
	for _, day := range o.Days {
		if day.Preliminary && e.timingOfDay(day.Date) == ThresholdMet {
			return false
		}
	}
	if next := o.NextUnknown(); e.timingOfDay(next) == OutsidePeriod {
		for _, day := range o.After {
			if day.Preliminary && day.Date.Before(next) && e.timingOfDay(day.Date) != OutsidePeriod {
				return false
			}
		}
		return true
	}
	return o.IsOver() && areFinal(o.After)
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
