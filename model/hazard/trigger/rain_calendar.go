package trigger

import (
	"slices"
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

// Period returns the days of the period that contains a day.
func (c Calendar) Period(day time.Time) DayRun {
	first, next := c.periodBounds(day)
	return DayRun{First: first, Last: next.AddDate(0, 0, -1)}
}

// FirstFrom returns the first day of the first period that begins at t or later.
func (c Calendar) FirstFrom(t time.Time) time.Time {
	day := firstFullDay(t)
	if first, next := c.periodBounds(day); first.Before(day) {
		return next
	}
	return day
}

// calendarPeriods defines a month or dekad. Its sum counts as a whole or not at all.
type calendarPeriods struct {
	precipitation

	calendar Calendar
}

// String returns month or dekad.
func (d calendarPeriods) String() string { return string(d.calendar) }

func parseCalendarPeriods(text string) (Definition, bool) {
	return calendarPeriods{calendar: Calendar(text)}, slices.Contains(Calendars(), Calendar(text))
}

// Calendar returns the period.
func (d calendarPeriods) Calendar() Calendar { return d.calendar }

// DryDays returns none.
func (calendarPeriods) DryDays() int { return 0 }

// FirstDay returns the first day of the first whole period. Even without a waiting period
// the one in which cover begins does not count.
func (d calendarPeriods) FirstDay(from, payableFrom time.Time) time.Time {
	first := from.AddDate(0, 0, 1)
	if payableFrom.After(first) {
		first = payableFrom
	}
	return d.calendar.FirstFrom(first)
}

// Occurrences returns every period with a known day. A missing day makes its period
// incomplete.
func (d calendarPeriods) Occurrences(station string, days []hazard.Day) []StationOccurrence {
	var periods []StationOccurrence
	days = measuredDays(d, days)
	for i := 0; i < len(days); {
		first, next := d.calendar.periodBounds(days[i].Date)
		end := i
		for end < len(days) && days[end].Date.Before(next) {
			end++
		}
		periods = append(periods, StationOccurrence{
			Station: station, Definition: d, First: first, Last: next.AddDate(0, 0, -1),
			Days: days[i:end:end], After: days[end:min(end+1, len(days))],
		})
		i = end
	}
	return periods
}

// LargestIndex returns the sum of all known days.
func (calendarPeriods) LargestIndex(o StationOccurrence, _ int) (sum decimal.Decimal) {
	for _, day := range o.Days {
		sum = sum.Add(*day.PrecipitationMM)
	}
	return sum
}

// isOver reports whether a day after the period or all of its days are known, or the clock
// ended it.
func (calendarPeriods) isOver(o StationOccurrence) bool {
	return len(o.After) > 0 || o.Missing() == 0 || o.Ended
}

func (calendarPeriods) isFinal(o StationOccurrence) bool { return o.Missing() == 0 && areFinal(o.Days) }

// evaluate considers the sum of a month or dekad, which counts as a whole or
// not at all.
func (d calendarPeriods) evaluate(e *evaluation, o StationOccurrence) {
	timing := e.timingOfDay(o.First)
	if e.timingOfDay(o.Last) == OutsidePeriod {
		timing = OutsidePeriod
	}
	for _, day := range o.Days {
		if isPaid(o.Paid, day.Date) {
			timing = OutsidePeriod
		}
	}
	e.considerDays(o.Run(), d.LargestIndex(o, 0), timing, o.Last)
}

// complete withdraws the payout of a period that is not over, not final or not complete. The
// clock ends periods of covers with a measurement only: the others keep the rule of their day.
func (calendarPeriods) complete(e *evaluation, d *Determination, o StationOccurrence) {
	final := areFinal(o.Days)
	switch missing := o.Missing() > 0; {
	case final && !missing:
		d.Stage = Final
	case !d.Met:
	default:
		d.Met, d.Factor, d.Amount = false, decimal.Zero, 0
		d.Reason = SourcePreliminary
		if missing && (final && len(o.After) > 0 || o.Ended && e.cover.Measurement != nil) {
			d.Reason = EvidenceNeeded
		}
	}
}
