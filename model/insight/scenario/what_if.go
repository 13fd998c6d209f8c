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
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// WhatIf is a hypothetical occurrence to evaluate. Exactly one member is set.
type WhatIf struct {
	Earthquake *WhatIfEarthquake
	Storm      *WhatIfStorm
	Rain       *WhatIfRain
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

// WhatIfFix is one position of a storm.
type WhatIfFix struct {
	Location hazard.Point
	WindKN   string     // maximum sustained wind, a decimal
	At       *time.Time // nil means six hours after the previous fix; for the first one, now
}

// WhatIfRain is rainfall at a station in addition to its source's reports: a given day
// replaces the reported one.
type WhatIfRain struct {
	Station string
	Source  string // source of the reported days; empty means DefaultRainSource
	Days    []WhatIfDay
}

// WhatIfDay is one UTC day of rain.
type WhatIfDay struct {
	Day             time.Time // midnight UTC
	PrecipitationMM string    // a decimal
}

// DefaultRainSource is the source whose reports hypothetical days extend.
const DefaultRainSource = "ghcn"

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
		v.Require(false, at, "required", "Describe exactly one of an earthquake, a storm and rain.")
	case in.Earthquake != nil:
		reports = in.Earthquake.toObservations(now)
		checkObservations(&v, reports, at+"/earthquake", func(int) string { return "" })
	case in.Storm != nil:
		v.Require(len(in.Storm.Fixes) > 0 && len(in.Storm.Fixes) <= MaxWhatIfFixes, at+"/storm/fixes", "length", fmt.Sprintf("Give 1 to %d fixes.", MaxWhatIfFixes))
		reports = in.Storm.toObservations(now)
		checkObservations(&v, reports, at+"/storm", func(i int) string { return fmt.Sprintf("/fixes/%d", i) })
	default:
		v.Require(len(in.Rain.Days) > 0 && len(in.Rain.Days) <= MaxWhatIfDays, at+"/rain/days", "length", fmt.Sprintf("Give 1 to %d days.", MaxWhatIfDays))
		reports = in.Rain.toObservations()
		checkObservations(&v, reports, at+"/rain", func(i int) string { return fmt.Sprintf("/days/%d", i) })
	}
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	slices.SortStableFunc(reports, func(a, b wire.ObservationInput) int { return a.OccurredAt.Compare(b.OccurredAt) })
	return reports, nil
}

// countDescriptions counts the descriptions given.
func (in *WhatIf) countDescriptions() int {
	given := 0
	for _, one := range []bool{in.Earthquake != nil, in.Storm != nil, in.Rain != nil} {
		if one {
			given++
		}
	}
	return given
}

func (q *WhatIfEarthquake) toObservations(now time.Time) []wire.ObservationInput {
	measures := map[string]wire.Measure{"magnitude": {Value: q.Magnitude, Unit: "mw"}}
	if q.DepthKM != nil {
		measures["depth"] = wire.Measure{Value: *q.DepthKM, Unit: "km"}
	}
	return []wire.ObservationInput{whatIfObservation(hazard.Earthquake, q.Location, store.TimeOrDefault(q.At, now), measures)}
}

// toObservations converts at most the allowed number of fixes: more are refused without
// conversion.
func (s *WhatIfStorm) toObservations(now time.Time) []wire.ObservationInput {
	at := now.Add(-fixInterval)
	reports := make([]wire.ObservationInput, 0, len(s.Fixes))
	for _, fix := range s.Fixes[:min(len(s.Fixes), MaxWhatIfFixes)] {
		at = store.TimeOrDefault(fix.At, at.Add(fixInterval))
		reports = append(reports, whatIfObservation(hazard.StormFix, fix.Location, at, map[string]wire.Measure{"wind": {Value: fix.WindKN, Unit: "kn"}}))
	}
	return reports
}

func (r *WhatIfRain) toObservations() []wire.ObservationInput {
	source := r.Source
	if source == "" {
		source = DefaultRainSource
	}
	reports := make([]wire.ObservationInput, 0, len(r.Days))
	for _, day := range r.Days[:min(len(r.Days), MaxWhatIfDays)] {
		reports = append(reports, wire.ObservationInput{
			Source: source, SourceEventID: r.Station + "/" + day.Day.Format(time.DateOnly), Kind: hazard.StationDay,
			OccurredAt: day.Day.UTC().Truncate(24 * time.Hour), Stage: trigger.Final, Station: r.Station,
			Measures: map[string]wire.Measure{"precipitation": {Value: day.PrecipitationMM, Unit: "mm"}},
		})
	}
	return reports
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
	hazard.StormFix:   {"/occurred_at": "/at", "/measures/wind": "/wind_kn"},
	hazard.StationDay: {"/occurred_at": "/day", "/measures/precipitation": "/precipitation_mm"},
}

// sharedRainFields is the same map for the members that the days of rain share.
var sharedRainFields = map[string]string{"/station": "/station", "/source_event_id": "/station", "/source": "/source"}

// checkObservations applies the checks for a source's reports, except that a
// hypothetical occurrence may lie in the future. The pointers lead to the description
// at a position, and to each report inside of it.
func checkObservations(v *apperr.Validator, reports []wire.ObservationInput, at string, each func(int) string) {
	for i := range reports {
		for _, f := range occurrence.CheckObservation(actor.System(), &reports[i], reports[i].OccurredAt, nil) {
			member := strings.TrimSuffix(f.Pointer, "/value")
			if common := sharedRainFields[member]; common != "" {
				f.Pointer = at + common
			} else {
				f.Pointer = at + each(i) + cmp.Or(whatIfFields[reports[i].Kind][member], member)
			}
			v.FieldErrors = append(v.FieldErrors, f)
		}
	}
}
