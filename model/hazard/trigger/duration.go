package trigger

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// durationPattern matches the calendar part and the clock part of a duration, whole
// numbers of at most six digits: no product needs more, and no sum can overflow.
var durationPattern = regexp.MustCompile(
	`^P(?:(\d{1,6})Y)?(?:(\d{1,6})M)?(?:(\d{1,6})W)?(?:(\d{1,6})D)?` +
		`(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?$`)

// Duration is a length of time in calendar and clock units.
type Duration struct {
	months, days int
	clock        time.Duration
}

// ParseDuration parses an ISO 8601 duration such as P365D, P1Y6M, P2W or PT72H.
// Fractions and signs are errors.
func ParseDuration(iso string) (Duration, error) {
	parts := durationPattern.FindStringSubmatch(iso)
	if parts == nil || iso[len(iso)-1] == 'P' || iso[len(iso)-1] == 'T' {
		return Duration{}, fmt.Errorf("%q is not an ISO 8601 duration of whole units such as P365D", iso)
	}
	var n [8]int
	for i, digits := range parts[1:] {
		n[i+1], _ = strconv.Atoi(digits) // an empty group is 0
	}
	return Duration{
		months: 12*n[1] + n[2], days: 7*n[3] + n[4],
		clock: time.Duration(n[5])*time.Hour + time.Duration(n[6])*time.Minute + time.Duration(n[7])*time.Second,
	}, nil
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
