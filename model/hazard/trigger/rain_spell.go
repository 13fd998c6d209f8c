package trigger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// wetSpells defines a wet spell. It begins and ends with a day of at least wetMM and has
// fewer than dryDays drier days in a row; all its days are known. A missing day ends it.
type wetSpells struct {
	precipitation

	wetMM   decimal.Decimal // millimetres
	dryDays int
}

// String returns spell/<wet_mm>/<dry_days>.
func (d wetSpells) String() string { return fmt.Sprintf("spell/%s/%d", d.wetMM.Normalize(), d.dryDays) }

func parseWetSpells(text string) (Definition, bool) {
	rest, isSpell := strings.CutPrefix(text, "spell/")
	wet, dry, both := strings.Cut(rest, "/")
	mm, err := decimal.NewFromString(wet)
	days, err2 := strconv.Atoi(dry)
	return wetSpells{wetMM: mm, dryDays: days}, isSpell && both && err == nil && err2 == nil && days > 0
}

// Calendar returns none: the days of a spell count one by one.
func (wetSpells) Calendar() Calendar { return "" }

// DryDays returns the number of drier days that end a spell.
func (d wetSpells) DryDays() int { return d.dryDays }

// FirstDay returns the first payable day.
func (wetSpells) FirstDay(_, payableFrom time.Time) time.Time { return payableFrom }

// Occurrences returns the wet spells.
func (d wetSpells) Occurrences(station string, days []hazard.Day) []StationOccurrence {
	var spells []StationOccurrence
	days = measuredDays(d, days)
	for i := 0; i < len(days); i++ {
		if !d.isWet(days[i]) {
			continue
		}
		last := d.lastOfSpell(days, i)
		behind := days[last+1:]
		spells = append(spells, StationOccurrence{
			Station: station, Definition: d, First: days[i].Date, Last: days[last].Date,
			Days: days[i : last+1 : last+1], After: behind[:min(d.dryDays, len(behind))],
		})
		i = last
	}
	return spells
}

func (d wetSpells) isWet(day hazard.Day) bool { return day.PrecipitationMM.Cmp(d.wetMM) >= 0 }

// lastOfSpell returns the index of the last wet day of the spell that begins at an
// index.
func (d wetSpells) lastOfSpell(days []hazard.Day, first int) int {
	last := first
	for i := first + 1; i < len(days) && i-last <= d.dryDays && isNextDay(days[i-1], days[i]); i++ {
		if d.isWet(days[i]) {
			last = i
		}
	}
	return last
}

// LargestIndex returns the largest sum of at most so many consecutive days.
func (wetSpells) LargestIndex(o StationOccurrence, days int) decimal.Decimal {
	_, sum, _ := largestSum(o.Days, days, func(hazard.Day) bool { return true })
	return sum
}

// isOver reports whether so many drier days are known after the spell.
func (d wetSpells) isOver(o StationOccurrence) bool { return len(o.After) >= d.dryDays }

func (d wetSpells) isFinal(o StationOccurrence) bool {
	return d.isOver(o) && areFinal(o.Days) && areFinal(o.After)
}

// evaluate considers the largest sum of at most Trigger.Days consecutive days of a
// wet spell that lie in the cover after the waiting period. If there is none, it
// considers the largest sum of days in the waiting period, then of days outside the
// cover. A spell without any days left, because they were revised, has the index 0.
func (wetSpells) evaluate(e *evaluation, o StationOccurrence) {
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
		if sum = sum.Add(*day.PrecipitationMM); i-first == n {
			sum, first = sum.Sub(*days[first].PrecipitationMM), first+1
		}
		if !found || sum.GreaterThan(most) {
			best, most, found = DayRun{days[first].Date, day.Date}, sum, true
		}
	}
	return best, most, found
}

// complete makes the determination final when no observation can change it.
func (wetSpells) complete(e *evaluation, d *Determination, o StationOccurrence) {
	if e.isSpellOver(o) {
		d.Stage = Final
	}
}

// isSpellOver reports whether no observation can change the cover's index any more:
// every counting day is final, and DryDays final drier days have passed or the next day
// lies outside the cover. A spell that a missing day ends is over when DryDays final
// days after it are known.
func (e *evaluation) isSpellOver(o StationOccurrence) bool {
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
