package trigger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Calendar is a period of the calendar at a station, in UTC days.
type Calendar string

const (
	// Month is a calendar month.
	Month Calendar = "month"
	// Dekad is a third of a month: days 1 to 10, 11 to 20, and 21 to the month's end.
	Dekad Calendar = "dekad"
)

// Calendars are all of them.
func Calendars() []Calendar { return []Calendar{Month, Dekad} }

// periodBounds are the first day of the period that a day lies in, and the first day of the
// next period.
func (c Calendar) periodBounds(day time.Time) (first, next time.Time) {
	month := time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
	end := month.AddDate(0, 1, 0)
	switch {
	case c != Dekad:
		return month, end
	case day.Day() > 20:
		return month.AddDate(0, 0, 20), end
	case day.Day() > 10:
		return month.AddDate(0, 0, 10), month.AddDate(0, 0, 20)
	default:
		return month, month.AddDate(0, 0, 10)
	}
}

// FirstFrom is the first day of the first period that begins at t or later.
func (c Calendar) FirstFrom(t time.Time) time.Time {
	day := firstFullDay(t)
	if first, next := c.periodBounds(day); first.Before(day) {
		return next
	}
	return day
}

// Definition says what one occurrence at a station is: a wet spell, or a period of the
// calendar. Policies with the same definition share its occurrences.
type Definition struct {
	Calendar Calendar // empty for wet spells
	WetMM    decimal.Decimal
	DryDays  int
}

// The definition of covers that were bound before their terms named one.
const (
	defaultWetMM   = 1
	defaultDryDays = 3
)

// Definition is what the trigger counts at a station.
func (t Trigger) Definition() Definition {
	switch {
	case t.Calendar != "":
		return Definition{Calendar: t.Calendar}
	case t.WetMM != nil:
		return Definition{WetMM: *t.WetMM, DryDays: t.DryDays}
	case t.Direction == AtMost:
		return Definition{Calendar: Month}
	default:
		return Definition{WetMM: decimal.NewFromInt(defaultWetMM), DryDays: defaultDryDays}
	}
}

// String is the definition as the database keeps it: month, dekad, or
// spell/<wet_mm>/<dry_days>.
func (d Definition) String() string {
	if d.Calendar != "" {
		return string(d.Calendar)
	}
	return fmt.Sprintf("spell/%s/%d", d.WetMM.Normalize(), d.DryDays)
}

// ParseDefinition reads what String wrote; false for any other text.
func ParseDefinition(text string) (Definition, bool) {
	for _, c := range Calendars() {
		if text == string(c) {
			return Definition{Calendar: c}, true
		}
	}
	rest, isSpell := strings.CutPrefix(text, "spell/")
	wet, dry, both := strings.Cut(rest, "/")
	mm, err := decimal.NewFromString(wet)
	days, err2 := strconv.Atoi(dry)
	return Definition{WetMM: mm, DryDays: days}, isSpell && both && err == nil && err2 == nil && days > 0
}

// RainOccurrence is one wet spell, month or dekad at a station.
type RainOccurrence struct {
	Station    string
	Definition Definition
	First      time.Time // a spell's first wet day, a period's first day; midnight UTC
	Last       time.Time // a spell's last wet day, a period's last day; midnight UTC
	// Days are the known days from First to Last, in order. A spell has all of them.
	Days []hazard.Day
	// After are known days behind Last, in order: of a spell the first DryDays of them, of
	// a period the first one. They tell whether the occurrence is over.
	After []hazard.Day
	// Paid are runs of days that the policy was paid for by other occurrences. They do
	// not count again.
	Paid []DayRun
}

// DayRun is a run of days, both ends included, each a midnight UTC.
type DayRun struct{ First, Last time.Time }

// Contains tells whether a day lies in the run.
func (r DayRun) Contains(day time.Time) bool { return !day.Before(r.First) && !day.After(r.Last) }

// Overlaps tells whether two runs share a day.
func (r DayRun) Overlaps(other DayRun) bool {
	return !r.Last.Before(other.First) && !other.Last.Before(r.First)
}

// Run is the days from the first to the last.
func (o RainOccurrence) Run() DayRun { return DayRun{o.First, o.Last} }

// Missing is the number of days of a month or dekad that are not known.
func (o RainOccurrence) Missing() int {
	return int(o.Last.Sub(o.First)/oneDay) + 1 - len(o.Days)
}

// Occurrences lists what happened at a station by its days, which must be in order of
// date, each once, at midnight UTC. It returns wet spells, or every month or dekad of
// which a day is known, in order of time.
//
// A wet spell begins and ends with a day of at least WetMM and has fewer than DryDays
// drier days in a row; all its days are known. A missing day is unknown: it ends a
// spell, and the month or dekad it lies in is incomplete.
func (d Definition) Occurrences(station string, days []hazard.Day) []RainOccurrence {
	if d.Calendar != "" {
		return d.calendarOccurrences(station, days)
	}
	var spells []RainOccurrence
	for i := 0; i < len(days); i++ {
		if !d.isWet(days[i]) {
			continue
		}
		last := d.lastOfSpell(days, i)
		behind := days[last+1:]
		spells = append(spells, RainOccurrence{
			Station: station, Definition: d, First: days[i].Date, Last: days[last].Date,
			Days: days[i : last+1 : last+1], After: behind[:min(d.DryDays, len(behind))],
		})
		i = last
	}
	return spells
}

func (d Definition) isWet(day hazard.Day) bool { return day.PrecipitationMM.Cmp(d.WetMM) >= 0 }

// lastOfSpell is the index of the last wet day of the spell that begins at an index.
func (d Definition) lastOfSpell(days []hazard.Day, first int) int {
	last := first
	for i := first + 1; i < len(days) && i-last <= d.DryDays && isNextDay(days[i-1], days[i]); i++ {
		if d.isWet(days[i]) {
			last = i
		}
	}
	return last
}

// isNextDay tells whether no day is missing between two.
func isNextDay(day, next hazard.Day) bool { return next.Date.Sub(day.Date) == oneDay }

// oneDay is the length of a day in UTC, which has no summer time.
const oneDay = 24 * time.Hour

func (d Definition) calendarOccurrences(station string, days []hazard.Day) []RainOccurrence {
	var periods []RainOccurrence
	for i := 0; i < len(days); {
		first, next := d.Calendar.periodBounds(days[i].Date)
		end := i
		for end < len(days) && days[end].Date.Before(next) {
			end++
		}
		periods = append(periods, RainOccurrence{
			Station: station, Definition: d, First: first, Last: next.AddDate(0, 0, -1),
			Days: days[i:end:end], After: days[end:min(end+1, len(days))],
		})
		i = end
	}
	return periods
}

// Hull is the shortest run that holds both.
func (r DayRun) Hull(other DayRun) DayRun {
	if other.First.Before(r.First) {
		r.First = other.First
	}
	if other.Last.After(r.Last) {
		r.Last = other.Last
	}
	return r
}

// IsOver tells whether the source has reported what ends the occurrence: of a spell
// DryDays known days behind it, of a month or dekad a day behind it or all of its days.
func (o RainOccurrence) IsOver() bool {
	if o.Definition.Calendar != "" {
		return len(o.After) > 0 || o.Missing() == 0
	}
	return len(o.After) >= o.Definition.DryDays
}

// IsFinal tells whether the occurrence is over by final readings and none is missing.
func (o RainOccurrence) IsFinal() bool {
	if o.Definition.Calendar != "" {
		return o.Missing() == 0 && areFinal(o.Days)
	}
	return o.IsOver() && areFinal(o.Days) && areFinal(o.After)
}

// NextUnknown is the first day behind the occurrence that is not known.
func (o RainOccurrence) NextUnknown() time.Time {
	next := o.Last.Add(oneDay)
	for _, day := range o.After {
		if !day.Date.Equal(next) {
			break
		}
		next = next.Add(oneDay)
	}
	return next
}

// LargestSum is the largest sum of at most n consecutive days of a spell, in
// millimetres: no cover has a larger index by it.
func (o RainOccurrence) LargestSum(n int) decimal.Decimal {
	_, sum, _ := largestSum(o.Days, n, func(hazard.Day) bool { return true })
	return sum
}

// Sum is the precipitation of the known days, in millimetres.
func (o RainOccurrence) Sum() (sum decimal.Decimal) {
	for _, day := range o.Days {
		sum = sum.Add(day.PrecipitationMM)
	}
	return sum
}

// HasFinalDays tells whether every known day is final.
func (o RainOccurrence) HasFinalDays() bool { return areFinal(o.Days) }
