package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/optional"
	"parapet/model/wire"
)

// WhatIf is a hypothetical occurrence to evaluate. Exactly one member is set.
type WhatIf struct {
	Earthquake  *WhatIfEarthquake
	Storm       *WhatIfStorm
	Rain        *WhatIfRain
	Temperature *WhatIfTemperature
}

// WhatIfEarthquake is an earthquake as a source would finally report it.
type WhatIfEarthquake struct {
	Location  hazard.Point
	Magnitude string     // moment magnitude, a decimal
	DepthKM   *string    // a decimal; nil means unknown, which satisfies every depth limit
	At        *time.Time // nil means now
}

// WhatIfStorm is a storm's track.
type WhatIfStorm struct{ Fixes []WhatIfFix }

// WhatIfFix is one position of a storm, with at least one of its measures.
type WhatIfFix struct {
	Location    hazard.Point
	WindKN      *string    // maximum sustained wind, a decimal; nil means unknown
	PressureHPA *string    // central pressure, a decimal; nil means unknown
	At          *time.Time // nil means six hours after the previous fix; for the first one, now
}

// WhatIfRain is rainfall at a station in addition to its source's reports: a given day
// replaces the reported one.
type WhatIfRain struct {
	Station string
	Source  string // source of the reported days; empty means DefaultStationSource
	Days    []WhatIfDay
}

// WhatIfDay is one UTC day of rain.
type WhatIfDay struct {
	Day             time.Time // midnight UTC
	PrecipitationMM string    // a decimal
}

// WhatIfTemperature is the temperature of days at a station in addition to its source's
// reports: a given day replaces the reported one.
type WhatIfTemperature struct {
	Station string
	Source  string // source of the reported days; empty means DefaultStationSource
	Days    []WhatIfTemperatureDay
}

// WhatIfTemperatureDay is one UTC day with its highest temperature, its lowest, or both, in
// degrees Celsius.
type WhatIfTemperatureDay struct {
	Day             time.Time // midnight UTC
	TemperatureMaxC *string   // a decimal; nil means unknown
	TemperatureMinC *string   // a decimal; nil means unknown
}

// DefaultStationSource is the source whose reports hypothetical days extend.
const DefaultStationSource = "ghcn"

// Bounds of a hypothetical occurrence.
const (
	MaxWhatIfFixes = 200
	MaxWhatIfDays  = 400
)

// fixInterval is the synoptic interval of storm fixes.
const fixInterval = 6 * time.Hour

// toObservations returns the observations that would describe the occurrence, in order
// of time, checked like a source's; at is the pointer to the description in the
// request.
func (in *WhatIf) toObservations(now time.Time, at string) ([]wire.ObservationInput, error) {
	v := apperr.Validator{}
	var reports []wire.ObservationInput
	switch {
	case in.countDescriptions() != 1:
		v.Require(false, at, "required", "Describe exactly one of an earthquake, a storm, rain and temperature.")
	case in.Earthquake != nil:
		reports = in.Earthquake.toObservations(now)
		checkObservations(&v, reports, at+"/earthquake", func(int) string { return "" })
	case in.Storm != nil:
		v.Require(len(in.Storm.Fixes) > 0 && len(in.Storm.Fixes) <= MaxWhatIfFixes, at+"/storm/fixes", "length", fmt.Sprintf("Give 1 to %d fixes.", MaxWhatIfFixes))
		reports = in.Storm.toObservations(now)
		checkObservations(&v, reports, at+"/storm", func(i int) string { return fmt.Sprintf("/fixes/%d", i) })
	case in.Rain != nil:
		requireDays(&v, len(in.Rain.Days), at+"/rain/days")
		reports = in.Rain.toObservations()
		checkObservations(&v, reports, at+"/rain", func(i int) string { return fmt.Sprintf("/days/%d", i) })
	default:
		requireDays(&v, len(in.Temperature.Days), at+"/temperature/days")
		reports = in.Temperature.toObservations()
		checkObservations(&v, reports, at+"/temperature", func(i int) string { return fmt.Sprintf("/days/%d", i) })
	}
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	slices.SortStableFunc(reports, func(a, b wire.ObservationInput) int { return a.OccurredAt.Compare(b.OccurredAt) })
	return reports, nil
}

func requireDays(v *apperr.Validator, days int, at string) {
	v.Require(days > 0 && days <= MaxWhatIfDays, at, "length", fmt.Sprintf("Give 1 to %d days.", MaxWhatIfDays))
}

// countDescriptions counts the descriptions given.
func (in *WhatIf) countDescriptions() int {
	given := 0
	for _, one := range []bool{in.Earthquake != nil, in.Storm != nil, in.Rain != nil, in.Temperature != nil} {
		if one {
			given++
		}
	}
	return given
}

func (q *WhatIfEarthquake) toObservations(now time.Time) []wire.ObservationInput {
	measures := knownMeasures(namedMeasure{"magnitude", "mw", &q.Magnitude}, namedMeasure{"depth", "km", q.DepthKM})
	return []wire.ObservationInput{whatIfObservation(hazard.Earthquake, q.Location, optional.Or(q.At, now), measures)}
}

// toObservations converts at most the allowed number of fixes: more are refused without
// conversion.
func (s *WhatIfStorm) toObservations(now time.Time) []wire.ObservationInput {
	at := now.Add(-fixInterval)
	reports := make([]wire.ObservationInput, 0, len(s.Fixes))
	for _, fix := range s.Fixes[:min(len(s.Fixes), MaxWhatIfFixes)] {
		at = optional.Or(fix.At, at.Add(fixInterval))
		measures := knownMeasures(namedMeasure{"wind", "kn", fix.WindKN}, namedMeasure{"pressure", "hPa", fix.PressureHPA})
		reports = append(reports, whatIfObservation(hazard.StormFix, fix.Location, at, measures))
	}
	return reports
}

func (r *WhatIfRain) toObservations() []wire.ObservationInput {
	reports := make([]wire.ObservationInput, 0, len(r.Days))
	for _, day := range r.Days[:min(len(r.Days), MaxWhatIfDays)] {
		reports = append(reports, whatIfStationDay(r.Source, r.Station, day.Day, namedMeasure{"precipitation", "mm", &day.PrecipitationMM}))
	}
	return reports
}

func (r *WhatIfTemperature) toObservations() []wire.ObservationInput {
	reports := make([]wire.ObservationInput, 0, len(r.Days))
	for _, day := range r.Days[:min(len(r.Days), MaxWhatIfDays)] {
		reports = append(reports, whatIfStationDay(r.Source, r.Station, day.Day,
			namedMeasure{"temperature_max", "degC", day.TemperatureMaxC}, namedMeasure{"temperature_min", "degC", day.TemperatureMinC}))
	}
	return reports
}

// namedMeasure is a measure of an observation; a nil value is unknown.
type namedMeasure struct {
	name, unit string
	value      *string
}

// knownMeasures returns the measures that have a value.
func knownMeasures(all ...namedMeasure) map[string]wire.Measure {
	measures := make(map[string]wire.Measure, len(all))
	for _, m := range all {
		if m.value != nil {
			measures[m.name] = wire.Measure{Value: *m.value, Unit: m.unit}
		}
	}
	return measures
}

func whatIfStationDay(source, station string, day time.Time, measures ...namedMeasure) wire.ObservationInput {
	return wire.ObservationInput{
		Source: cmp.Or(source, DefaultStationSource), SourceEventID: station + "/" + day.Format(time.DateOnly), Kind: hazard.StationDay,
		OccurredAt: day.UTC().Truncate(24 * time.Hour), Stage: trigger.Final, Station: station, Measures: knownMeasures(measures...),
	}
}

func whatIfObservation(kind hazard.Kind, where hazard.Point, at time.Time, measures map[string]wire.Measure) wire.ObservationInput {
	return wire.ObservationInput{
		Source: occurrence.WhatIfSource, SourceEventID: occurrence.WhatIfSource, Kind: kind, OccurredAt: at, Stage: trigger.Final,
		Location: &where, Measures: measures,
	}
}

// whatIfFields maps the members of an observation to those of the description it was
// made from.
var whatIfFields = map[hazard.Kind]map[string]string{
	hazard.Earthquake: {"/occurred_at": "/at", "/measures/magnitude": "/magnitude", "/measures/depth": "/depth_km"},
	hazard.StormFix:   {"/occurred_at": "/at", "/measures/wind": "/wind_kn", "/measures/pressure": "/pressure_hpa"},
	hazard.StationDay: {
		"/occurred_at": "/day", "/measures/precipitation": "/precipitation_mm",
		"/measures/temperature_max": "/temperature_max_c", "/measures/temperature_min": "/temperature_min_c",
	},
}

// whatIfMeasures are the sentences about a report without any measure.
var whatIfMeasures = map[hazard.Kind]string{
	hazard.StormFix:   "Give wind_kn, pressure_hpa or both.",
	hazard.StationDay: "Give temperature_max_c, temperature_min_c or both.",
}

// sharedStationFields is the same map for the members that the days at a station share.
var sharedStationFields = map[string]string{"/station": "/station", "/source_event_id": "/station", "/source": "/source"}

// checkObservations applies the checks for a source's reports, except that a
// hypothetical occurrence may lie in the future. The pointers lead to the description
// at a position, and to each report inside of it.
func checkObservations(v *apperr.Validator, reports []wire.ObservationInput, at string, each func(int) string) {
	for i := range reports {
		for _, f := range occurrence.CheckObservation(actor.System(), &reports[i], reports[i].OccurredAt, nil) {
			member := strings.TrimSuffix(f.Pointer, "/value")
			switch common := sharedStationFields[member]; {
			case common != "":
				f.Pointer = at + common
			case member == "/measures":
				f.Pointer, f.Detail = at+each(i), whatIfMeasures[reports[i].Kind]
			default:
				f.Pointer = at + each(i) + cmp.Or(whatIfFields[reports[i].Kind][member], member)
			}
			v.FieldErrors = append(v.FieldErrors, f)
		}
	}
}
