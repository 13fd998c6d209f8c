package receipt

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
)

// Facts are the readings that a determination was computed from: one version of one
// occurrence of a source. Exactly one of Earthquake, Storm and Station is set.
type Facts struct {
	Source        string               `json:"source"`
	SourceEventID string               `json:"source_event_id"`
	SourceVersion string               `json:"source_version"`
	Stage         trigger.Stage        `json:"stage"`
	Unit          string               `json:"unit,omitzero"` // scale of an earthquake's magnitude, if it is not the terms'
	Earthquake    *Earthquake          `json:"earthquake,omitzero"`
	Storm         *Storm               `json:"storm,omitzero"`
	Station       *Station             `json:"station,omitzero"`
	Observations  []ObservationVersion `json:"observations"` // where the values come from
}

// ObservationVersion names one report of an observation.
type ObservationVersion struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
}

// Earthquake is one earthquake.
type Earthquake struct {
	OccurredAt time.Time        `json:"occurred_at"`
	Location   hazard.Point     `json:"location"`
	Magnitude  decimal.Decimal  `json:"magnitude"`
	DepthKM    *decimal.Decimal `json:"depth_km"`
}

// Storm is the track of a storm.
type Storm struct {
	Fixes []Fix `json:"fixes"`
}

// Fix is a position of a storm.
type Fix struct {
	At          time.Time        `json:"at"`
	Location    hazard.Point     `json:"location"`
	WindKN      *decimal.Decimal `json:"wind_kn"`
	PressureHPA *decimal.Decimal `json:"pressure_hpa"`
}

// Station is an occurrence at a station: a wet spell, a calendar period or a season.
type Station struct {
	Station    string `json:"station"`
	Definition string `json:"definition"`
	FirstDay   string `json:"first_day"`
	LastDay    string `json:"last_day"`
	Days       []Day  `json:"days"`       // known days of the occurrence
	DaysAfter  []Day  `json:"days_after"` // known days that decide whether it is over
	// Ended is whether the clock ended a month or dekad of which days were missing.
	Ended bool `json:"ended,omitzero"`
}

// Day is a day at a station.
type Day struct {
	Date            string           `json:"date"`
	Preliminary     bool             `json:"preliminary"`
	PrecipitationMM *decimal.Decimal `json:"precipitation_mm"`
	HighestC        *decimal.Decimal `json:"temperature_max_c"`
	LowestC         *decimal.Decimal `json:"temperature_min_c"`
	WindMS          *decimal.Decimal `json:"wind_ms"`
}

// DayRun is a run of days that was paid through other occurrences, both ends included.
type DayRun struct {
	FirstDay string `json:"first_day"`
	LastDay  string `json:"last_day"`
}

// NewFacts returns the readings of an occurrence without what is about one policy.
func NewFacts(o trigger.Occurrence, observations []ObservationVersion) Facts {
	f := Facts{Source: o.Source, SourceEventID: o.SourceEventID, SourceVersion: o.SourceVersion, Stage: o.Stage, Unit: o.Unit, Observations: observations}
	switch {
	case o.Quake != nil:
		f.Earthquake = &Earthquake{o.Quake.At, o.Quake.Where, o.Quake.Magnitude, o.Quake.DepthKM}
	case o.Storm != nil:
		f.Storm = &Storm{Fixes: make([]Fix, len(o.Storm.Fixes))}
		for i, fix := range o.Storm.Fixes {
			f.Storm.Fixes[i] = Fix{fix.At, fix.Where, fix.WindKN, fix.PressureHPA}
		}
	case o.AtStation != nil:
		f.Station = &Station{
			Station: o.AtStation.Station, Definition: o.AtStation.Definition.String(), FirstDay: formatDay(o.AtStation.First), LastDay: formatDay(o.AtStation.Last),
			Days: newDays(o.AtStation.Days), DaysAfter: newDays(o.AtStation.After), Ended: o.AtStation.Ended,
		}
	}
	return f
}

func formatDay(day time.Time) string { return day.UTC().Format(time.DateOnly) }

func newDays(days []hazard.Day) []Day {
	list := make([]Day, len(days))
	for i, day := range days {
		list[i] = Day{formatDay(day.Date), day.Preliminary, day.PrecipitationMM, day.HighestC, day.LowestC, day.WindMS}
	}
	return list
}

// NewPaidDays returns the runs of days that other occurrences paid; nil without any.
func NewPaidDays(o trigger.Occurrence) []DayRun {
	if o.AtStation == nil {
		return nil
	}
	var runs []DayRun
	for _, run := range o.AtStation.Paid {
		runs = append(runs, DayRun{formatDay(run.First), formatDay(run.Last)})
	}
	return runs
}

// Occurrence returns the readings as the trigger evaluates them, without the days that
// were paid already.
func (f *Facts) Occurrence(paid []DayRun) (trigger.Occurrence, error) {
	o := trigger.Occurrence{Source: f.Source, SourceEventID: f.SourceEventID, SourceVersion: f.SourceVersion, Stage: f.Stage, Unit: f.Unit}
	switch {
	case f.Earthquake != nil:
		o.Quake = &hazard.Quake{At: f.Earthquake.OccurredAt, Where: f.Earthquake.Location, Magnitude: f.Earthquake.Magnitude, DepthKM: f.Earthquake.DepthKM, EventID: f.SourceEventID}
	case f.Storm != nil:
		o.Storm = &hazard.Storm{ID: f.SourceEventID, Fixes: make([]hazard.Fix, len(f.Storm.Fixes))}
		for i, fix := range f.Storm.Fixes {
			o.Storm.Fixes[i] = hazard.Fix{At: fix.At, Where: fix.Location, WindKN: fix.WindKN, PressureHPA: fix.PressureHPA}
		}
	case f.Station != nil:
		at, err := f.Station.occurrence(paid)
		if err != nil {
			return o, err
		}
		o.AtStation = at
	}
	return o, nil
}

func (s *Station) occurrence(paid []DayRun) (*trigger.StationOccurrence, error) {
	definition, ok := trigger.ParseDefinition(s.Definition)
	if !ok {
		return nil, fmt.Errorf("there is no definition %q of occurrences at a station", s.Definition)
	}
	r := dayReader{}
	o := &trigger.StationOccurrence{
		Station: s.Station, Definition: definition, First: r.parseDay(s.FirstDay), Last: r.parseDay(s.LastDay), Days: r.parseDays(s.Days), After: r.parseDays(s.DaysAfter), Ended: s.Ended,
	}
	for _, run := range paid {
		o.Paid = append(o.Paid, trigger.DayRun{First: r.parseDay(run.FirstDay), Last: r.parseDay(run.LastDay)})
	}
	return o, r.err
}

// dayReader parses dates and keeps the first error.
type dayReader struct{ err error }

func (r *dayReader) parseDay(text string) time.Time {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil && r.err == nil {
		r.err = err
	}
	return day
}

func (r *dayReader) parseDays(days []Day) []hazard.Day {
	var list []hazard.Day
	for _, day := range days {
		list = append(list, hazard.Day{
			Date: r.parseDay(day.Date), Preliminary: day.Preliminary,
			PrecipitationMM: day.PrecipitationMM, HighestC: day.HighestC, LowestC: day.LowestC, WindMS: day.WindMS,
		})
	}
	return list
}

// ParseFacts reads facts from their canonical JSON.
func ParseFacts(text jsontext.Value) (*Facts, error) {
	facts := new(Facts)
	return facts, parsePayload(text, facts)
}

// ParseHashed reads the inputs and the result of a determination.
func ParseHashed(text jsontext.Value) (*Hashed, error) {
	hashed := new(Hashed)
	return hashed, parsePayload(text, hashed)
}
