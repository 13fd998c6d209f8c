package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"parapet/model/hazard"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// AsIf is an occurrence that did not happen, for asking what it would mean.
// Exactly one member is set.
type AsIf struct {
	Earthquake *AsIfEarthquake
	Storm      *AsIfStorm
	Rain       *AsIfRain
}

// AsIfEarthquake is a quake as a source would finally report it.
type AsIfEarthquake struct {
	Location  hazard.Point
	Magnitude string     // moment magnitude, a decimal
	DepthKM   *string    // a decimal; nil when unknown, which counts as within every depth limit
	At        *time.Time // nil means now
}

// AsIfStorm is a storm's track.
type AsIfStorm struct{ Fixes []AsIfFix }

// AsIfFix is one position of a storm.
type AsIfFix struct {
	Location hazard.Point
	WindKN   string     // maximum sustained wind, a decimal
	At       *time.Time // nil means six hours after the fix before; the first one's is now
}

// AsIfRain is days at a station on top of what its source reported there: a day
// that is given replaces the reported one.
type AsIfRain struct {
	Station string
	Source  string // whose reports the days join; empty means DefaultRainSource
	Days    []AsIfDay
}

// AsIfDay is one UTC day of rain.
type AsIfDay struct {
	Day             time.Time // midnight UTC
	PrecipitationMM string    // a decimal
}

// DefaultRainSource is the source whose days as-if days join.
const DefaultRainSource = "ghcn"

// The bounds of an as-if occurrence.
const (
	MaxAsIfFixes = 200
	MaxAsIfDays  = 400
)

// asIfSource is the source of what did not happen.
const asIfSource = "as-if"

// betweenFixes is the synoptic interval at which the agencies fix storms.
const betweenFixes = 6 * time.Hour

// reports are the observations by which the occurrence would be told, in order of
// time, checked as a source's are; at is where the request describes it.
func (in *AsIf) reports(now time.Time, at string) ([]wire.ObservationInput, error) {
	c := fieldCheck{}
	var reports []wire.ObservationInput
	switch {
	case in.described() != 1:
		c.that(false, at, "required", "Describe exactly one of an earthquake, a storm and rain.")
	case in.Earthquake != nil:
		reports = in.Earthquake.reports(now)
		c.reports(reports, at+"/earthquake", func(int) string { return "" })
	case in.Storm != nil:
		c.that(len(in.Storm.Fixes) > 0 && len(in.Storm.Fixes) <= MaxAsIfFixes, at+"/storm/fixes", "length", fmt.Sprintf("Give 1 to %d fixes.", MaxAsIfFixes))
		reports = in.Storm.reports(now)
		c.reports(reports, at+"/storm", func(i int) string { return fmt.Sprintf("/fixes/%d", i) })
	default:
		c.that(len(in.Rain.Days) > 0 && len(in.Rain.Days) <= MaxAsIfDays, at+"/rain/days", "length", fmt.Sprintf("Give 1 to %d days.", MaxAsIfDays))
		reports = in.Rain.reports()
		c.reports(reports, at+"/rain", func(i int) string { return fmt.Sprintf("/days/%d", i) })
	}
	if len(c.fields) > 0 {
		return nil, Invalid(c.fields...)
	}
	slices.SortStableFunc(reports, func(a, b wire.ObservationInput) int { return a.OccurredAt.Compare(b.OccurredAt) })
	return reports, nil
}

// described counts the descriptions given.
func (in *AsIf) described() int {
	given := 0
	for _, one := range []bool{in.Earthquake != nil, in.Storm != nil, in.Rain != nil} {
		if one {
			given++
		}
	}
	return given
}

func (q *AsIfEarthquake) reports(now time.Time) []wire.ObservationInput {
	measures := map[string]wire.Measure{"magnitude": {Value: q.Magnitude, Unit: "mw"}}
	if q.DepthKM != nil {
		measures["depth"] = wire.Measure{Value: *q.DepthKM, Unit: "km"}
	}
	return []wire.ObservationInput{asIfAt(hazard.Earthquake, q.Location, orTime(q.At, now), measures)}
}

// reports are those of as many fixes as there may be: more are refused unread.
func (s *AsIfStorm) reports(now time.Time) []wire.ObservationInput {
	at := now.Add(-betweenFixes)
	reports := make([]wire.ObservationInput, 0, len(s.Fixes))
	for _, fix := range s.Fixes[:min(len(s.Fixes), MaxAsIfFixes)] {
		at = orTime(fix.At, at.Add(betweenFixes))
		reports = append(reports, asIfAt(hazard.StormFix, fix.Location, at, map[string]wire.Measure{"wind": {Value: fix.WindKN, Unit: "kn"}}))
	}
	return reports
}

func (r *AsIfRain) reports() []wire.ObservationInput {
	source := r.Source
	if source == "" {
		source = DefaultRainSource
	}
	reports := make([]wire.ObservationInput, 0, len(r.Days))
	for _, day := range r.Days[:min(len(r.Days), MaxAsIfDays)] {
		reports = append(reports, wire.ObservationInput{
			Source: source, SourceEventID: r.Station + "/" + day.Day.Format(time.DateOnly), Kind: hazard.StationDay,
			OccurredAt: day.Day.UTC().Truncate(24 * time.Hour), Stage: trigger.Final, Station: r.Station,
			Measures: map[string]wire.Measure{"precipitation": {Value: day.PrecipitationMM, Unit: "mm"}},
		})
	}
	return reports
}

func asIfAt(kind hazard.Kind, where hazard.Point, at time.Time, measures map[string]wire.Measure) wire.ObservationInput {
	return wire.ObservationInput{
		Source: asIfSource, SourceEventID: asIfSource, Kind: kind, OccurredAt: at, Stage: trigger.Final,
		Location: &where, Measures: measures,
	}
}

func orTime(given *time.Time, otherwise time.Time) time.Time {
	if given == nil {
		return otherwise
	}
	return *given
}

// supposed names the members of a description by those of the observation that is
// made of them.
var supposed = map[hazard.Kind]map[string]string{
	hazard.Earthquake: {"/occurred_at": "/at", "/measures/magnitude": "/magnitude", "/measures/depth": "/depth_km"},
	hazard.StormFix:   {"/occurred_at": "/at", "/measures/wind": "/wind_kn"},
	hazard.StationDay: {"/occurred_at": "/day", "/measures/precipitation": "/precipitation_mm"},
}

// ofAllDays are what the days of rain have in common, by the same names.
var ofAllDays = map[string]string{"/station": "/station", "/source_event_id": "/station", "/source": "/source"}

// reports checks as a source's reports are checked, but for the future, in which
// an as-if occurrence may well lie. The pointers lead into the description at a
// place, and to each report inside of it.
func (c *fieldCheck) reports(reports []wire.ObservationInput, at string, each func(int) string) {
	for i := range reports {
		for _, f := range checkObservation(System(), &reports[i], reports[i].OccurredAt, nil) {
			member := strings.TrimSuffix(f.Pointer, "/value")
			if common := ofAllDays[member]; common != "" {
				f.Pointer = at + common
			} else {
				f.Pointer = at + each(i) + cmp.Or(supposed[reports[i].Kind][member], member)
			}
			c.fields = append(c.fields, f)
		}
	}
}
