package trigger

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Calendar is a calendar period at a station, in UTC days.
type Calendar string

const (
	// Month is a calendar month.
	Month Calendar = "month"
	// Dekad is a third of a month: days 1 to 10, 11 to 20, and 21 to the month's end.
	Dekad Calendar = "dekad"
)

// Calendars lists all calendar periods.
func Calendars() []Calendar { return []Calendar{Month, Dekad} }

// periodBounds returns the first day of the period that contains a day, and the first
// day of the next period.
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

// FirstFrom returns the first day of the first period that begins at t or later.
func (c Calendar) FirstFrom(t time.Time) time.Time {
	day := firstFullDay(t)
	if first, next := c.periodBounds(day); first.Before(day) {
		return next
	}
	return day
}

// Definition defines an occurrence at a station: a wet spell, or a calendar period.
// Policies with the same definition share its occurrences.
type Definition struct {
	Calendar Calendar // empty for wet spells
	WetMM    decimal.Decimal
	DryDays  int
}

// The definition of covers bound before terms contained one.
const (
	defaultWetMM   = 1
	defaultDryDays = 3
)

// Definition returns the definition of the trigger's occurrences at a station.
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

// String returns the definition as stored in the database: month, dekad, or
// spell/<wet_mm>/<dry_days>.
func (d Definition) String() string {
	if d.Calendar != "" {
		return string(d.Calendar)
	}
	return fmt.Sprintf("spell/%s/%d", d.WetMM.Normalize(), d.DryDays)
}

// ParseDefinition parses the result of String; false for any other text.
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
	// After are known days after Last, in order: for a spell the first DryDays of them,
	// for a period the first one. They show whether the occurrence is over.
	After []hazard.Day
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
func (o RainOccurrence) Run() DayRun { return DayRun{o.First, o.Last} }

// Missing returns the number of unknown days of a month or dekad.
func (o RainOccurrence) Missing() int {
	return int(o.Last.Sub(o.First)/oneDay) + 1 - len(o.Days)
}

// Occurrences returns the occurrences at a station from its days, which must be in
// order of date, each once, at midnight UTC. It returns wet spells, or every month or
// dekad with a known day, in order of time.
//
// A wet spell begins and ends with a day of at least WetMM and has fewer than DryDays
// drier days in a row; all its days are known. A missing day is unknown: it ends a
// spell, and makes its month or dekad incomplete.
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

// lastOfSpell returns the index of the last wet day of the spell that begins at an
// index.
func (d Definition) lastOfSpell(days []hazard.Day, first int) int {
	last := first
	for i := first + 1; i < len(days) && i-last <= d.DryDays && isNextDay(days[i-1], days[i]); i++ {
		if d.isWet(days[i]) {
			last = i
		}
	}
	return last
}

// isNextDay reports whether no day is missing between two.
func isNextDay(day, next hazard.Day) bool { return next.Date.Sub(day.Date) == oneDay }

// oneDay is the length of a day in UTC, which has no daylight saving time.
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
func (o RainOccurrence) IsOver() bool {
	if o.Definition.Calendar != "" {
		return len(o.After) > 0 || o.Missing() == 0
	}
	return len(o.After) >= o.Definition.DryDays
}

// IsFinal reports whether the occurrence is over by final observations and none is
// missing.
func (o RainOccurrence) IsFinal() bool {
	if o.Definition.Calendar != "" {
		return o.Missing() == 0 && areFinal(o.Days)
	}
	return o.IsOver() && areFinal(o.Days) && areFinal(o.After)
}

// NextUnknown returns the first unknown day after the occurrence.
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

// LargestSum returns the largest sum of at most n consecutive days of a spell, in
// millimetres: no cover of n days has a larger index for it.
func (o RainOccurrence) LargestSum(n int) decimal.Decimal {
	_, sum, _ := largestSum(o.Days, n, func(hazard.Day) bool { return true })
	return sum
}

// Sum returns the precipitation of the known days, in millimetres.
func (o RainOccurrence) Sum() (sum decimal.Decimal) {
	for _, day := range o.Days {
		sum = sum.Add(day.PrecipitationMM)
	}
	return sum
}

// HasFinalDays reports whether every known day is final.
func (o RainOccurrence) HasFinalDays() bool { return areFinal(o.Days) }
