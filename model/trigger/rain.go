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
	payable, end := dayNumber(firstDay(payableFrom)), min(calendar.end, dayNumber(midnight(p.To)))
	for first := dayNumber(firstDay(p.From)); n > 0 && first+n <= end; {
		window, ok := calendar.window(c.Place.Station, first, n)
		if ok && first >= payable && c.met(window) && !overlapsAny(window, taken) {
			met = append(met, window)
			first += n
			continue
		}
		first += stride
	}
	return met
}

// WindowEnding is the window whose last day is last, met or not, so that it can
// be judged by name. False when a day is missing or the cover does not measure
// that window: not wholly in its period, or not one of a deficit's consecutive
// windows.
func WindowEnding(c Cover, p Period, days []hazard.Day, last time.Time) (Window, bool) {
	n := c.Trigger.Days
	window, ok := newCalendar(days).window(c.Place.Station, dayNumber(midnight(last))+1-n, n)
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
	return c.Trigger.Direction != AtMost || (dayNumber(first)-dayNumber(firstDay(p.From)))%n == 0
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

// calendar finds days by number.
type calendar struct {
	days map[int]hazard.Day
	end  int // the number behind the last day
}

func newCalendar(days []hazard.Day) calendar {
	c := calendar{days: make(map[int]hazard.Day, len(days))}
	for _, day := range days {
		number := dayNumber(day.Date)
		c.days[number], c.end = day, max(c.end, number+1)
	}
	return c
}

// window is n days from the day of a number; false when one is missing.
func (c calendar) window(station string, first, n int) (Window, bool) {
	if n <= 0 {
		return Window{}, false
	}
	window := Window{Station: station, Days: make([]hazard.Day, 0, n)}
	for number := first; number < first+n; number++ {
		day, ok := c.days[number]
		if !ok {
			return Window{}, false
		}
		window.Days = append(window.Days, day)
	}
	return window, true
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

// dayNumber counts UTC days since 1970; t is a midnight.
func dayNumber(t time.Time) int { return int(t.Unix() / int64(24*time.Hour/time.Second)) }
