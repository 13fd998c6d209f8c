package trigger

import (
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Rainfall insures against too much or too little rain at a station.
const Rainfall hazard.Peril = "rainfall"

var rainfallRules = PerilRules{
	Peril: Rainfall, Kind: hazard.StationDay,
	Indices: map[string]Index{"precipitation_sum": {"mm", "%s %s of rain", 200}},
	contextMembers: func(t Trigger) []string {
		if t.Direction == AtMost {
			return []string{"calendar"}
		}
		return []string{"days"}
	},
	validate: validateRainfall,
	define:   defineRainfall,
	parseDefinition: func(text string) (Definition, bool) {
		if d, ok := parseCalendarPeriods(text); ok {
			return d, true
		}
		return parseWetSpells(text)
	},
}

// The definition of covers bound before terms contained one.
const (
	defaultWetMM   = 1
	defaultDryDays = 3
)

func defineRainfall(t Trigger) Definition {
	switch {
	case t.Calendar != "":
		return calendarPeriods{calendar: t.Calendar}
	case t.WetMM != nil:
		return wetSpells{wetMM: *t.WetMM, dryDays: t.DryDays}
	case t.Direction == AtMost:
		return calendarPeriods{calendar: Month}
	default:
		return wetSpells{wetMM: decimal.NewFromInt(defaultWetMM), dryDays: defaultDryDays}
	}
}

// validateRainfall requires the members that define the occurrences at a station: days,
// wet_mm and dry_days for sums of a wet spell, the name of the period for sums of a
// calendar period.
func validateRainfall(t Trigger) error {
	switch {
	case t.Direction == AtMost && (t.Calendar != Month && t.Calendar != Dekad):
		return fmt.Errorf("calendar %q is neither %s nor %s; a deficit of rain needs one", t.Calendar, Month, Dekad)
	case t.Direction == AtMost && (t.Days != 0 || t.WetMM != nil || t.DryDays != 0):
		return errors.New("days, wet_mm and dry_days define wet spells; a deficit of rain has a calendar instead")
	case t.Direction == AtMost:
		return nil
	case t.Calendar != "":
		return errors.New("calendar is for a deficit of rain; an excess has days, wet_mm and dry_days instead")
	case t.Days < 1:
		return errors.New("an excess of rain needs days, at least 1")
	case t.WetMM == nil || !t.WetMM.IsPositive():
		return errors.New("an excess of rain needs wet_mm, above 0")
	case t.DryDays < 1:
		return errors.New("an excess of rain needs dry_days, at least 1")
	default:
		return nil
	}
}

// precipitation is the value of rainfall's definitions.
type precipitation struct{}

// Grows returns false: the largest sum of a spell may come from other days, and is paid
// once.
func (precipitation) Grows() bool { return false }

// Value returns the precipitation.
func (precipitation) Value(day hazard.Day) *decimal.Decimal { return day.PrecipitationMM }

// NewDay returns a day of rain.
func (precipitation) NewDay(date time.Time, mm decimal.Decimal) hazard.Day {
	return hazard.Day{Date: date, PrecipitationMM: &mm}
}
