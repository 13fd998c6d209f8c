package trigger

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The units of a duration's calendar part and clock part, in their order.
const (
	calendarUnits = "YMWD"
	clockUnits    = "HMS"
)

// maxDurationDigits bounds the numbers of a duration: no product needs more, and no sum can
// overflow.
const maxDurationDigits = 6

// Duration is a length of time in calendar and clock units.
type Duration struct {
	months, days int
	clock        time.Duration
}

// ParseDuration parses an ISO 8601 duration such as P365D, P1Y6M, P2W or PT72H.
// Fractions and signs are errors.
func ParseDuration(iso string) (Duration, error) {
	calendar, clock, hasClock := strings.Cut(strings.TrimPrefix(iso, "P"), "T")
	days, calendarOK := parseUnits(calendar, calendarUnits)
	times, clockOK := parseUnits(clock, clockUnits)
	if iso == "" || iso[0] != 'P' || !calendarOK || !clockOK || hasClock == (clock == "") || calendar+clock == "" {
		return Duration{}, fmt.Errorf("%q is not an ISO 8601 duration of whole units such as P365D", iso)
	}
	return Duration{
		months: 12*days[0] + days[1], days: 7*days[2] + days[3],
		clock: time.Duration(times[0])*time.Hour + time.Duration(times[1])*time.Minute + time.Duration(times[2])*time.Second,
	}, nil
}

// parseUnits parses whole numbers, each followed by its unit, in the order of the units.
func parseUnits(text, units string) (numbers [4]int, ok bool) {
	for last := -1; text != ""; {
		digits := 0
		for digits < len(text) && '0' <= text[digits] && text[digits] <= '9' {
			digits++
		}
		if digits == 0 || digits > maxDurationDigits || digits == len(text) {
			return numbers, false
		}
		unit := strings.IndexByte(units, text[digits])
		if unit <= last {
			return numbers, false
		}
		numbers[unit], _ = strconv.Atoi(text[:digits])
		last, text = unit, text[digits+1:]
	}
	return numbers, true
}

// After returns t, in UTC, plus the duration. Years and months keep the day of the
// month, or use the last day if the month is too short (31 January and P1M is 28 or 29
// February, as in PostgreSQL); days and weeks are UTC days.
func (d Duration) After(t time.Time) time.Time {
	return addMonths(t.UTC(), d.months).AddDate(0, 0, d.days).Add(d.clock)
}

// AddDuration returns t, in UTC, plus an ISO 8601 duration, as Duration.After does.
// Years beyond 9999 are errors, too.
func AddDuration(t time.Time, iso string) (time.Time, error) {
	d, err := ParseDuration(iso)
	if err != nil {
		return time.Time{}, err
	}
	moved := d.After(t)
	if moved.Year() > 9999 {
		return time.Time{}, fmt.Errorf("%s after %s is beyond the year 9999", iso, t.UTC().Format(time.DateOnly))
	}
	return moved, nil
}

func addMonths(t time.Time, months int) time.Time {
	moved := t.AddDate(0, months, 0)
	if moved.Day() != t.Day() { // overflowed into the next month
		moved = moved.AddDate(0, 0, -moved.Day())
	}
	return moved
}

// Period returns the period of a cover that starts at start: [start, start + term). An
// invalid term gives an empty period; Validate refuses it.
func (c Cover) Period(start time.Time) Period {
	end, err := AddDuration(start, c.Term)
	if err != nil {
		end = start
	}
	return Period{From: start, To: end}
}

// PayableFrom returns the end of the waiting period of a cover that starts at start;
// earlier occurrences never pay. An empty waiting period is zero. An invalid one lasts
// as long as the cover; Validate refuses it.
func (c Cover) PayableFrom(start time.Time) time.Time {
	if c.WaitingPeriod == "" {
		return start
	}
	end, err := AddDuration(start, c.WaitingPeriod)
	if err != nil {
		return c.Period(start).To
	}
	return end
}

// ReportableUntil returns the end of the reporting window of a cover that ends at end:
// claims may be opened until then. An empty window is zero, and so is an invalid one,
// which Validate refuses.
func (c Cover) ReportableUntil(end time.Time) time.Time {
	if until, err := AddDuration(end, c.ReportingWindow); err == nil {
		return until
	}
	return end
}
