package occurrence

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/hazard/sources"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

var (
	decimalPattern = regexp.MustCompile(`^-?[0-9]{1,9}(\.[0-9]{1,9})?$`)
	// SourcePattern matches the name of a source.
	SourcePattern = sources.NamePattern
)

// CheckObservation returns all errors of an observation, with pointers into it. unread
// has the errors of the members that the API could not parse.
func CheckObservation(actor actor.Actor, in *wire.ObservationInput, now time.Time, unread []apperr.FieldError) []apperr.FieldError {
	v := apperr.Validator{Unparsed: unread}
	v.Require(SourcePattern.MatchString(in.Source), "/source", "pattern", "Use the source's name: lower-case letters, digits, dot, hyphen and underscore.")
	if refusal := checkSource(actor, in.Source); refusal != nil {
		v.Require(false, "/source", "forbidden", refusal.Detail)
	}
	v.Require(IsValidName(in.SourceEventID), "/source_event_id", "length", "Use the source's own id of the event, 1 to 128 characters.")
	v.Require(slices.Contains(hazard.Kinds(), in.Kind), "/kind", "enum", "Use earthquake, storm_fix or station_day.")
	v.Require(in.Stage == trigger.Preliminary || in.Stage == trigger.Final || in.Stage == trigger.Retracted, "/stage", "enum", "Use preliminary, final or retracted.")
	requireOccurredAt(&v, in)
	// Allow no tolerance: otherwise cover bought between the report and the event would
	// pay.
	v.Require(!in.OccurredAt.After(now), "/occurred_at", "future", "It is in the future; only an event that has happened can be observed.")
	v.Require(in.Revision == nil || *in.Revision >= 0, "/revision", "minimum", "Use a whole number from 0.")
	v.Require(len(in.Aliases) <= maxAliases, "/aliases", "length", fmt.Sprintf("Use at most %d ids.", maxAliases))
	for i, alias := range in.Aliases[:min(len(in.Aliases), maxAliases)] {
		v.Require(IsValidName(alias), apperr.JSONPointer("aliases", strconv.Itoa(i)), "length", "Use an id of 1 to 128 characters.")
	}
	if in.Stage != trigger.Retracted { // a retraction keeps the reported place and values
		v.Require(in.Measures != nil, "/measures", "required", "It is missing: give an object.")
		requirePlace(&v, in)
		requireMeasures(&v, in)
	}
	all := apperr.SortFieldErrors(v.AllErrors())
	return all[:min(len(all), apperr.MaxFieldErrors)]
}

// requireOccurredAt validates the time. An earthquake is retracted by its id alone, a
// storm's fix also by its time, a station's day by its station and day or by an id that
// contains both.
func requireOccurredAt(v *apperr.Validator, in *wire.ObservationInput) {
	if in.Stage == trigger.Retracted {
		v.Require(!in.Kind.IsFix() || !in.OccurredAt.IsZero(), "/occurred_at", "required", "Say which fix of the storm is retracted: give its time.")
		v.Require(!in.Kind.IsDaily() || IsValidName(in.Station) && !in.OccurredAt.IsZero(), "/station", "required", "Say which day is retracted: give station and occurred_at, or a source_event_id of the form <station>/<day>.")
		return
	}
	v.Require(!in.OccurredAt.IsZero(), "/occurred_at", "required", "It is missing: give an RFC 3339 time with its zone, such as 2018-02-06T15:50:42Z.")
	v.Require(in.OccurredAt.IsZero() || in.OccurredAt.Year() >= hazard.EarliestYear, "/occurred_at", "value", "Use an RFC 3339 time with its zone, such as 2018-02-06T15:50:42Z.")
}

// completeRetraction sets the station and day of a retracted day from its id.
func completeRetraction(in *wire.ObservationInput) {
	if in.Stage != trigger.Retracted || !in.Kind.IsDaily() || in.Station != "" || !in.OccurredAt.IsZero() {
		return
	}
	if station, day, ok := ParseStationDay(in.SourceEventID); ok {
		in.Station, in.OccurredAt = station, day
	}
}

// checkSource returns an error when a data source's token may not post for the source. It
// returns nil for an invalid source name, which is reported as another error.
func checkSource(a actor.Actor, source string) *apperr.Error {
	if a.Kind != actor.KindSource || a.AnySource || slices.Contains(a.Sources, source) || !SourcePattern.MatchString(source) {
		return nil
	}
	allowed := "This token has no claim named source, so it may not post observations."
	if len(a.Sources) > 0 {
		allowed = "This token may post for " + strings.Join(a.Sources, ", ") + " only."
	}
	refusal := apperr.Fail(apperr.CodeInsufficientScope, "%s", allowed)
	refusal.Extra = map[string]any{"scope": string(actor.ScopeObservationsWrite), "sources": append([]string{}, a.Sources...)}
	return refusal
}

// IsValidName reports whether an id of an event or station has 1 to 128 characters.
func IsValidName(id string) bool { return id != "" && utf8.RuneCountInString(id) <= 128 }

// maxAliases is the maximum number of additional ids of an event.
const maxAliases = 20

func requirePlace(v *apperr.Validator, in *wire.ObservationInput) {
	if in.Location != nil {
		v.Require(in.Location.Latitude >= -90 && in.Location.Latitude <= 90, "/location/latitude", "value", "Use degrees from -90 to 90.")
		v.Require(in.Location.Longitude >= -180 && in.Location.Longitude <= 180, "/location/longitude", "value", "Use degrees from -180 to 180.")
	}
	if in.Kind.Rules().Measures == nil {
		return // the kind decides which of the two it needs
	}
	if in.Kind.IsDaily() {
		v.Require(IsValidName(in.Station), "/station", "required", "Name the station, 1 to 128 characters.")
		v.Require(in.Location == nil, "/location", "not_allowed", "A station's day has a station, not a location.")
		return
	}
	v.Require(in.Station == "", "/station", "not_allowed", "Only a station_day has a station.")
	v.Require(in.Location != nil, "/location", "required", "Say where: latitude and longitude in degrees (WGS84).")
}

func requireMeasures(v *apperr.Validator, in *wire.ObservationInput) {
	known := in.Kind.Rules().Measures
	if known == nil {
		return
	}
	v.Require(in.Measures == nil || len(in.Measures) > 0, "/measures", "required", "Give at least one of "+strings.Join(slices.Sorted(maps.Keys(known)), ", ")+".")
	for _, name := range slices.Sorted(maps.Keys(known)) {
		_, given := in.Measures[name]
		v.Require(given || !known[name].Required, apperr.JSONPointer("measures", name), "required", "An "+string(in.Kind)+" needs it.")
	}
	for _, name := range slices.Sorted(maps.Keys(in.Measures)) {
		q, ok := known[name]
		if !ok {
			v.Require(false, apperr.JSONPointer("measures", name), "unknown", "Known measures of this kind: "+strings.Join(slices.Sorted(maps.Keys(known)), ", ")+".")
			continue
		}
		requireMeasure(v, name, in.Measures[name], q)
	}
}

func requireMeasure(v *apperr.Validator, name string, m wire.Measure, q hazard.MeasureRule) {
	v.Require(slices.Contains(q.Units, m.Unit), apperr.JSONPointer("measures", name, "unit"), "enum", "Use "+strings.Join(q.Units, ", ")+".")
	if !decimalPattern.MatchString(m.Value) {
		v.Require(false, apperr.JSONPointer("measures", name, "value"), "format", "Use a decimal string such as \"6.4\", with at most nine digits on either side.")
		return
	}
	value := decimal.RequireFromString(m.Value).InexactFloat64()
	v.Require(value >= q.Min && value <= q.Max, apperr.JSONPointer("measures", name, "value"), "value", fmt.Sprintf("Use a value from %g to %g %s.", q.Min, q.Max, q.Units[0]))
}
