// Package hazard holds what can be measured in the world: earthquakes, tropical
// cyclones and daily rain, their geometry on the sphere, and the shipped
// history that prices cover. It is pure: no database, no clock, no context.
package hazard

import (
	"time"

	"github.com/shopspring/decimal"
)

// Kind is what an observation measures.
type Kind string

const (
	// Earthquake is one earthquake: magnitude at a point and a depth.
	Earthquake Kind = "earthquake"
	// StormFix is one position of a storm's track: sustained wind at a point.
	StormFix Kind = "storm_fix"
	// StationDay is one day of measurements at a weather station.
	StationDay Kind = "station_day"
)

// Kinds lists every kind in the contract's order.
func Kinds() []Kind { return []Kind{Earthquake, StormFix, StationDay} }

// Point is a WGS84 position in degrees; south and west are negative.
type Point struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// Quake is one earthquake.
type Quake struct {
	At        time.Time
	Where     Point
	Magnitude decimal.Decimal  // moment magnitude as the source prefers it
	DepthKM   *decimal.Decimal // nil when the source gives none
	EventID   string           // the source's id
}

// Fix is one position of a storm.
type Fix struct {
	At     time.Time
	Where  Point
	WindKN *decimal.Decimal // maximum sustained wind in knots; nil when unknown
	// PressureHPA is the minimum pressure in hectopascals; nil when unknown.
	PressureHPA *decimal.Decimal
	Status      string // the source's word for what the system is: HU, TS, EX …
	Record      string // why there is a fix between the regular hours: L is a landfall
}

// Storm is one tropical cyclone with its fixes in order of time.
type Storm struct {
	ID    string // basin, number, year: AL122005
	Name  string
	Fixes []Fix

	Complete bool // the file announced how many fixes there are, and all were read
}

// Day is one UTC calendar day of measurements at a station. Precipitation is
// always there; the others are nil when the source gives none.
type Day struct {
	Date            time.Time // midnight UTC
	PrecipitationMM decimal.Decimal
	HighestC        *decimal.Decimal // temperature in degrees Celsius
	LowestC         *decimal.Decimal
	WindMS          *decimal.Decimal // mean wind in metres per second
	Preliminary     bool             // the source may still revise it; never true of shipped history
}

// Station is a weather station with its days in order of date, gaps left out.
type Station struct {
	Name  string
	Days  []Day
	Years []int // with at least WholeYearDays days of precipitation, ascending; NewHistory counts them
}

// WholeYearDays is the number of days with a measurement that make a year of a
// station whole.
const WholeYearDays = 360

// MinimumStationYears is the number of whole years without which no price is found at a
// station.
const MinimumStationYears = 20

// HasEnoughYears tells whether the station has years enough to price from.
func (s Station) HasEnoughYears() bool { return len(s.Years) >= MinimumStationYears }

// wholeYears are the years with at least WholeYearDays days.
func wholeYears(days []Day) []int {
	var years []int
	for from := 0; from < len(days); {
		year, to := days[from].Date.Year(), from
		for to < len(days) && days[to].Date.Year() == year {
			to++
		}
		if to-from >= WholeYearDays {
			years = append(years, year)
		}
		from = to
	}
	return years
}

// Measure is a measured value: a decimal string, so that no digit is lost, and
// its unit: {"value": "6.4", "unit": "mw"}.
type Measure struct {
	Value string `json:"value"` // decimal: "6.4"
	Unit  string `json:"unit"`  // mw, km, kn, hPa, mm, degC, m/s
}

// Dataset describes one shipped history: where it comes from and which
// questions it can answer.
type Dataset struct {
	Name             string          // as it appears in a quote's basis
	Source           string          // whose events these are: usgs, nhc, ghcn
	Digest           string          // "sha256:" and the digest of the file, in hexadecimal
	FirstYear        int             // first full calendar year
	LastYear         int             // last calendar year, included
	MinimumMagnitude decimal.Decimal // quakes only: nothing weaker is recorded
	Basin            *Basin          // tracks only: where all storms are recorded
}

// Years is the number of calendar years of history.
func (d Dataset) Years() int { return d.LastYear - d.FirstYear + 1 }
