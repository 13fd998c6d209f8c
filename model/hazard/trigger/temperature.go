package trigger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Temperature insures against extreme temperatures at a station: the number of days of a
// season that are at least so hot, or at most so cold.
const Temperature hazard.Peril = "temperature"

// Indices of temperature.
const (
	hotDays  = "hot_days"  // days with a highest temperature at or above degrees_c
	coldDays = "cold_days" // days with a lowest temperature at or below degrees_c
)

var temperatureRules = PerilRules{
	Peril: Temperature, Kind: hazard.StationDay,
	Indices:         map[string]Index{hotDays: {"days", "%s hot %s", 20}, coldDays: {"days", "%s cold %s", 20}},
	Growth:          "The season has more days that count",
	contextMembers:  func(Trigger) []string { return nil },
	validate:        validateTemperature,
	define:          defineTemperature,
	parseDefinition: parseTemperatureSeason,
}

func validateTemperature(t Trigger) error {
	switch {
	case t.Index != hotDays && t.Index != coldDays:
		return fmt.Errorf("index %q is neither %s nor %s", t.Index, hotDays, coldDays)
	case t.Direction != AtLeast:
		return errors.New("days of extreme temperature are counted at_least")
	case t.DegreesC == nil:
		return errors.New("temperature needs degrees_c")
	case t.SeasonFrom == nil || t.SeasonTo == nil || !isMonthDay(*t.SeasonFrom) || !isMonthDay(*t.SeasonTo):
		return errors.New("temperature needs season_from and season_to, month and day such as 06-01")
	default:
		return nil
	}
}

// isMonthDay reports whether text is MM-DD of any year; the last day of February is 02-28.
func isMonthDay(text string) bool {
	_, err := time.Parse(time.DateOnly, "2001-"+text)
	return err == nil
}

// temperatureSeason defines the season of a year at a station, with the days that count.
// Policies choose how many pay.
type temperatureSeason struct {
	index    string // hotDays or coldDays
	degrees  decimal.Decimal
	from, to string // MM-DD, both included; to before from crosses new year
}

func defineTemperature(t Trigger) Definition {
	if validateTemperature(t) != nil {
		return nil
	}
	return temperatureSeason{t.Index, *t.DegreesC, *t.SeasonFrom, *t.SeasonTo}
}

// String returns <index>/<degrees>/<from>/<to>.
func (d temperatureSeason) String() string {
	return strings.Join([]string{d.index, d.degrees.Normalize().String(), d.from, d.to}, "/")
}

func parseTemperatureSeason(text string) (Definition, bool) {
	parts := strings.Split(text, "/")
	if len(parts) != 4 || parts[0] != hotDays && parts[0] != coldDays || !isMonthDay(parts[2]) || !isMonthDay(parts[3]) {
		return nil, false
	}
	degrees, err := decimal.NewFromString(parts[1])
	return temperatureSeason{parts[0], degrees, parts[2], parts[3]}, err == nil
}

// Calendar returns none: the days of a season count one by one.
func (temperatureSeason) Calendar() Calendar { return "" }

// DryDays returns none: a season ends with its last day.
func (temperatureSeason) DryDays() int { return 0 }

// Grows returns true: later days only add to the count.
func (temperatureSeason) Grows() bool { return true }

// Value returns the highest temperature for hot days, the lowest one for cold days.
func (d temperatureSeason) Value(day hazard.Day) *decimal.Decimal {
	if d.index == coldDays {
		return day.LowestC
	}
	return day.HighestC
}

// NewDay returns a day with that temperature.
func (d temperatureSeason) NewDay(date time.Time, celsius decimal.Decimal) hazard.Day {
	if d.index == coldDays {
		return hazard.Day{Date: date, LowestC: &celsius}
	}
	return hazard.Day{Date: date, HighestC: &celsius}
}

func (d temperatureSeason) isExtreme(day hazard.Day) bool {
	if d.index == coldDays {
		return day.LowestC.LessThanOrEqual(d.degrees)
	}
	return day.HighestC.GreaterThanOrEqual(d.degrees)
}

// season returns the first season that ends on a day or later.
func (d temperatureSeason) season(day time.Time) DayRun {
	for year := day.Year() - 1; ; year++ {
		first, last := monthDayOf(year, d.from), monthDayOf(year, d.to)
		if last.Before(first) {
			last = monthDayOf(year+1, d.to)
		}
		if !last.Before(day) {
			return DayRun{first, last}
		}
	}
}

func monthDayOf(year int, monthDay string) time.Time {
	day, _ := time.Parse("01-02", monthDay) // isMonthDay accepted it
	return time.Date(year, day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)
}

// FirstDay returns the first payable day of a season.
func (d temperatureSeason) FirstDay(_, payableFrom time.Time) time.Time {
	day := firstFullDay(payableFrom)
	if first := d.season(day).First; first.After(day) {
		return first
	}
	return day
}

// Occurrences returns every season with a known day.
func (d temperatureSeason) Occurrences(station string, days []hazard.Day) []StationOccurrence {
	var seasons []StationOccurrence
	days = measuredDays(d, days)
	for i := 0; i < len(days); {
		season := d.season(days[i].Date)
		end := i
		for end < len(days) && season.Contains(days[end].Date) {
			end++
		}
		if end == i { // a day between two seasons
			i++
			continue
		}
		seasons = append(seasons, StationOccurrence{
			Station: station, Definition: d, First: season.First, Last: season.Last,
			Days: days[i:end:end], After: days[end:min(end+1, len(days))],
		})
		i = end
	}
	return seasons
}

// LargestIndex returns the number of days that count.
func (d temperatureSeason) LargestIndex(o StationOccurrence, _ int) decimal.Decimal {
	count, _ := d.count(o.Days, d.isExtreme)
	return decimal.NewFromInt(count)
}

// count returns the number of days that count and the run from the first to the last.
func (temperatureSeason) count(days []hazard.Day, counts func(hazard.Day) bool) (count int64, run DayRun) {
	for _, day := range days {
		if !counts(day) {
			continue
		}
		if count++; count == 1 {
			run.First = day.Date
		}
		run.Last = day.Date
	}
	return count, run
}

// isOver reports whether a day after the season or all of its days are known.
func (temperatureSeason) isOver(o StationOccurrence) bool {
	return len(o.After) > 0 || o.Missing() == 0
}

func (temperatureSeason) isFinal(o StationOccurrence) bool { return areFinal(o.Days) }

// evaluate considers the number of extreme days in the cover after the waiting period. If
// no known day lies there, it considers those in the waiting period, then those outside of
// the cover. A missing day does not count.
func (d temperatureSeason) evaluate(e *evaluation, o StationOccurrence) {
	for _, timing := range []Reason{ThresholdMet, WaitingPeriod, OutsidePeriod} {
		isCounted := func(day hazard.Day) bool { return e.timingOfDay(day.Date) == timing && !isPaid(o.Paid, day.Date) }
		known, all := d.count(o.Days, isCounted)
		if known == 0 && timing != OutsidePeriod {
			continue
		}
		count, run := d.count(o.Days, func(day hazard.Day) bool { return isCounted(day) && d.isExtreme(day) })
		at := all.Last
		switch {
		case count > 0:
			at = run.Last
		case known == 0:
			at = o.Last
		}
		e.considerDays(run, decimal.NewFromInt(count), timing, at)
		return
	}
}

// complete makes the determination final when every day that it counts is final: other days
// can only add to it.
func (d temperatureSeason) complete(e *evaluation, det *Determination, o StationOccurrence) {
	preliminary, _ := d.count(o.Days, func(day hazard.Day) bool {
		return day.Preliminary && d.isExtreme(day) && e.timingOfDay(day.Date) == ThresholdMet && !isPaid(o.Paid, day.Date)
	})
	if preliminary == 0 {
		det.Stage = Final
	}
}
