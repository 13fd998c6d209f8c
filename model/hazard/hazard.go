package hazard

import (
	"time"

	"github.com/shopspring/decimal"
)

// Peril is what a cover insures against; trigger.PerilRules describes each.
type Peril string

// Point is a WGS84 position in degrees; south and west are negative.
type Point struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// Quake is one earthquake.
type Quake struct {
	At        time.Time
	Where     Point
	Magnitude decimal.Decimal  // moment magnitude, the source's preferred value
	DepthKM   *decimal.Decimal // nil when the source gives none
	EventID   string           // the source's id
	Line      int              // of its file, counted from 1; 0 without a file
}

// Fix is one position of a storm.
type Fix struct {
	At     time.Time
	Where  Point
	WindKN *decimal.Decimal // maximum sustained wind in knots; nil when unknown
	// PressureHPA is the minimum pressure in hectopascals; nil when unknown.
	PressureHPA *decimal.Decimal
	Status      string // the source's code for the state of the system: HU, TS, EX …
	Record      string // reason for a fix between the regular hours: L is a landfall
	Line        int    // of its file, counted from 1; 0 without a file
}

// Storm is one tropical cyclone with its fixes in order of time.
type Storm struct {
	ID    string // basin, number, year: AL122005
	Name  string
	Fixes []Fix

	Complete bool // all fixes announced in the file were read
	Line     int  // of its header in its file, counted from 1; 0 without a file
}

// Day is one UTC calendar day of measurements at a station. Values are nil when the source
// gives none.
type Day struct {
	Date            time.Time // midnight UTC
	PrecipitationMM *decimal.Decimal
	HighestC        *decimal.Decimal // temperature in degrees Celsius
	LowestC         *decimal.Decimal
	WindMS          *decimal.Decimal // mean wind in metres per second
	Preliminary     bool             // the source may still revise it; never true of shipped history
	Line            int              // of its file, counted from 1; 0 without a file
}

// Station is a weather station with its days in order of date, without the missing
// ones.
type Station struct {
	Name string
	Days []Day
}

// WholeYearDays is the number of measured days that make a year of a station whole.
const WholeYearDays = 360

// MinimumStationYears is the minimum number of whole years for a price at a station.
const MinimumStationYears = 20

// WholeYears returns the years with at least WholeYearDays days for which isMeasured
// holds, ascending.
func (s Station) WholeYears(isMeasured func(Day) bool) []int {
	var years []int
	for from := 0; from < len(s.Days); {
		year, to, measured := s.Days[from].Date.Year(), from, 0
		for ; to < len(s.Days) && s.Days[to].Date.Year() == year; to++ {
			if isMeasured(s.Days[to]) {
				measured++
			}
		}
		if measured >= WholeYearDays {
			years = append(years, year)
		}
		from = to
	}
	return years
}

// Measure is a measured value: a decimal string, to keep all digits, and its unit:
// {"value": "6.4", "unit": "mw"}.
type Measure struct {
	Value string `json:"value"` // decimal: "6.4"
	Unit  string `json:"unit"`  // mw, km, kn, hPa, mm, degC, m/s
}

// Dataset describes one history: its source and its limits.
type Dataset struct {
	Name             string          // name in a quote's basis
	Source           string          // source of the events: usgs, nhc, ghcn
	Digest           string          // "sha256:" and the digest of the file, in hexadecimal
	FirstYear        int             // first full calendar year
	LastYear         int             // last calendar year, included
	MinimumMagnitude decimal.Decimal // earthquakes only: weaker ones are not recorded
	Basin            *Basin          // tracks only: the area where all storms are recorded
}

// Years returns the number of calendar years of history.
func (d Dataset) Years() int { return d.LastYear - d.FirstYear + 1 }
