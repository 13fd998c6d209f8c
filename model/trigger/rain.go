package trigger

import (
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Sum is the precipitation of the window in millimetres.
func (w Window) Sum() decimal.Decimal {
	var sum decimal.Decimal
	for _, day := range w.Days {
		sum = sum.Add(day.PrecipitationMM)
	}
	return sum
}

// Last is the date of the window's last day, which names it; the zero time when
// it has none.
func (w Window) Last() time.Time {
	if len(w.Days) == 0 {
		return time.Time{}
	}
	return w.Days[len(w.Days)-1].Date
}

// overlaps tells whether the windows share a day.
func (w Window) overlaps(other Window) bool {
	return len(w.Days) > 0 && len(other.Days) > 0 &&
		!w.Last().Before(other.Days[0].Date) && !other.Last().Before(w.Days[0].Date)
}

// Windows are the runs of Trigger.Days consecutive days that meet the term, in
// order. Days before payableFrom, days not wholly inside the period and days
// of the taken windows, which were paid already, never count; a run with a
// missing day is not judged. The days may come in any order.
//
// An excess is found by sliding: the first run that meets the term takes its
// days, and the search goes on behind it. A deficit is judged in consecutive
// runs from the first whole UTC day of the cover, because any dry spell could
// otherwise be cut to be dry enough.
func Windows(c Cover, p Period, payableFrom time.Time, days []hazard.Day, taken []Window) []Window {
	calendar, n := newCalendar(days), c.Trigger.Days
	stride := n
	if c.Trigger.Direction == AtLeast {
		stride = 1
	}
	var met []Window
	for first, end := firstDay(p.From), calendar.end(p.To); n > 0 && !first.AddDate(0, 0, n).After(end); {
		window, ok := calendar.window(c.Place.Station, first, n)
		if ok && !first.Before(payableFrom) && !overlapsAny(window, taken) && c.met(window) {
			met = append(met, window)
			first = first.AddDate(0, 0, n)
			continue
		}
		first = first.AddDate(0, 0, stride)
	}
	return met
}

// WindowEnding is the window whose last day is last, met or not, so that it can
// be judged by name. False when a day is missing or the cover does not measure
// that window: not wholly in its period, or not one of a deficit's consecutive
// windows.
func WindowEnding(c Cover, p Period, days []hazard.Day, last time.Time) (Window, bool) {
	n := c.Trigger.Days
	window, ok := newCalendar(days).window(c.Place.Station, midnight(last).AddDate(0, 0, 1-n), n)
	return window, ok && c.measures(p, window)
}

// measures tells whether the window is one that the cover judges: as long as
// the term says, without gaps, wholly inside the period, and for a deficit one
// of the consecutive windows.
func (c Cover) measures(p Period, w Window) bool {
	n := c.Trigger.Days
	if n <= 0 || len(w.Days) != n {
		return false
	}
	first := w.Days[0].Date
	for i, day := range w.Days {
		if !day.Date.Equal(first.AddDate(0, 0, i)) {
			return false
		}
	}
	if first.Before(p.From) || first.AddDate(0, 0, n).After(p.To) {
		return false
	}
	return c.Trigger.Direction != AtMost || daysBetween(firstDay(p.From), first)%n == 0
}

func (c Cover) met(w Window) bool {
	return c.Payout.read(c.Trigger.side(), w.Sum(), c.Payout.Steps).met()
}

func overlapsAny(w Window, taken []Window) bool {
	for _, other := range taken {
		if w.overlaps(other) {
			return true
		}
	}
	return false
}

// calendar finds days by their number since 1970.
type calendar map[int]hazard.Day

func newCalendar(days []hazard.Day) calendar {
	c := make(calendar, len(days))
	for _, day := range days {
		c[daysBetween(time.Unix(0, 0), day.Date)] = day
	}
	return c
}

// end is the end of the last day, but at most t.
func (c calendar) end(t time.Time) time.Time {
	var end time.Time
	for _, day := range c {
		if next := day.Date.AddDate(0, 0, 1); next.After(end) {
			end = next
		}
	}
	if t.Before(end) {
		return t
	}
	return end
}

// window is n days from first; false when one is missing.
func (c calendar) window(station string, first time.Time, n int) (Window, bool) {
	start := daysBetween(time.Unix(0, 0), first)
	window := Window{Station: station, Days: make([]hazard.Day, 0, max(n, 0))}
	for i := range n {
		day, ok := c[start+i]
		if !ok {
			return Window{}, false
		}
		window.Days = append(window.Days, day)
	}
	return window, n > 0
}

// firstDay is the first UTC day that begins at or after t.
func firstDay(t time.Time) time.Time {
	if day := midnight(t); day.Before(t) {
		return day.AddDate(0, 0, 1)
	}
	return midnight(t)
}

// midnight is the beginning of t's UTC day.
func midnight(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// daysBetween counts whole days; both times are midnights UTC.
func daysBetween(from, to time.Time) int {
	return int((to.Unix() - from.Unix()) / int64(24*time.Hour/time.Second))
}
