package occurrence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
)

// Station is a station in one scope, as one source reports it.
type Station struct{ Scope, Source, Name string }

// HoldsDaySQL is true for an occurrence oc that contains the day of the report o at a
// station.
const HoldsDaySQL = `oc.scope = o.scope and oc.source = o.source and oc.station = o.station and o.day::timestamp at time zone 'UTC' between oc.occurred_at and oc.last_at`

// StationAndDefinition returns the station of an occurrence; false for other perils and
// for windows of days recorded before occurrences at stations had a definition.
func (r *OccurrenceRow) StationAndDefinition() (Station, trigger.Definition, bool) {
	if r.Station == nil || r.Definition == nil {
		return Station{}, nil, false
	}
	definition, ok := trigger.ParseDefinition(*r.Definition)
	return Station{r.Scope, r.Source, *r.Station}, definition, ok
}

// DayRun returns the days of an occurrence at a station.
func (r *OccurrenceRow) DayRun() trigger.DayRun {
	return trigger.DayRun{First: r.OccurredAt.UTC(), Last: r.LastAt.UTC()}
}

// reportsQuery selects the station's reports for a range of days, in order.
func (s Station) reportsQuery(db bun.IDB, into any, from, to time.Time) *bun.SelectQuery {
	return db.NewSelect().Model(into).Where("o.station = ?", s.Name).Where("o.source = ?", s.Source).Where("o.scope = ?", s.Scope).
		Where("o.day between ?::date and ?::date", from, to)
}

// LoadDays reads the reported days of a station from from to to, both included.
func (s Station) LoadDays(ctx context.Context, db bun.IDB, from, to time.Time) (StationDays, error) {
	var rows []ObservationRow
	if err := s.reportsQuery(db, &rows, from, to).OrderExpr("o.day").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read days: %w", err)
	}
	return rows, nil
}

// EventID returns the source event id of an occurrence that begins on a day.
func (s Station) EventID(day time.Time) string { return s.Name + "/" + day.Format(time.DateOnly) }

// StationDays are the observations of a station in order of day, including retracted
// ones.
type StationDays []ObservationRow

// MeasuredDays returns the days with the value that a definition counts. A retracted
// observation leaves a missing day, unless withRetracted is set.
func (d StationDays) MeasuredDays(definition trigger.Definition, withRetracted bool) []hazard.Day {
	days := make([]hazard.Day, 0, len(d))
	for i := range d {
		day := hazard.Day{
			Date: d[i].Day.UTC(), Preliminary: d[i].Stage == string(trigger.Preliminary), PrecipitationMM: d[i].measuredValue("precipitation"),
			HighestC: d[i].measuredValue("temperature_max"), LowestC: d[i].measuredValue("temperature_min"), WindMS: d[i].measuredValue("wind"),
		}
		if definition.Value(day) != nil && (withRetracted || !d[i].isRetracted()) {
			days = append(days, day)
		}
	}
	return days
}

// withinRun returns the observations of a run of days.
func (d StationDays) withinRun(run trigger.DayRun) StationDays {
	at := func(day time.Time) int {
		i, _ := slices.BinarySearchFunc(d, day, func(row ObservationRow, day time.Time) int { return row.Day.UTC().Compare(day) })
		return i
	}
	return d[at(run.First):at(run.Last.AddDate(0, 0, 1))]
}

// revisionSum returns a number that grows with every observation of a run and every
// revision of one.
func (d StationDays) revisionSum(run trigger.DayRun) (sum int64) {
	for _, row := range d.withinRun(run) {
		sum += row.Version
	}
	return sum
}

// How many days of observations around an occurrence are read: days after it decide
// whether it is over, days before it belong to a spell that would be longer without
// retractions.
const (
	daysReadBefore = 31
	daysReadAfter  = 62
)

// LoadStationFacts completes the facts of occurrences at stations from the observations
// of their days, read in one statement.
func LoadStationFacts(ctx context.Context, db bun.IDB, all []LoadedOccurrence) error {
	var of []*OccurrenceRow
	for _, o := range all {
		if _, _, ok := o.Row.StationAndDefinition(); ok {
			of = append(of, o.Row)
		}
	}
	if len(of) == 0 {
		return nil
	}
	query := unionAll(of, func(row *OccurrenceRow) *bun.SelectQuery {
		at, _, _ := row.StationAndDefinition()
		return at.reportsQuery(db, (*ObservationRow)(nil), row.OccurredAt.AddDate(0, 0, -daysReadBefore), row.LastAt.AddDate(0, 0, daysReadAfter)).
			ColumnExpr("o.*").ColumnExpr("?::uuid as of", row.ID)
	})
	var found []observedRow
	if err := db.NewSelect().TableExpr("(?) as o", query).ColumnExpr("o.*").OrderExpr("o.day").Scan(ctx, &found); err != nil {
		return store.TranslateError(fmt.Errorf("read days: %w", err))
	}
	days := make(map[uuid.UUID]StationDays, len(of))
	for i := range found {
		days[found[i].Of] = append(days[found[i].Of], found[i].ObservationRow)
	}
	for i := range all {
		if _, _, ok := all[i].Row.StationAndDefinition(); ok {
			all[i].Facts = all[i].Row.rainFacts(days[all[i].Row.ID])
		}
	}
	return nil
}

// rainFacts returns an occurrence at a station as the trigger evaluates it.
// withRetracted holds the facts that include retracted observations.
func (r *OccurrenceRow) rainFacts(days StationDays) trigger.Occurrence {
	at, definition, _ := r.StationAndDefinition()
	facts := trigger.Occurrence{Source: r.Source, SourceEventID: r.SourceEventID, SourceVersion: r.SourceVersion, Stage: r.Stage}
	found, _ := findLargestOverlap(definition.Occurrences(at.Name, days.MeasuredDays(definition, false)), r.DayRun())
	if found == nil { // the revised or retracted days no longer form an occurrence; the known facts follow it
		found = &trigger.StationOccurrence{
			Station: at.Name, Definition: definition, First: r.OccurredAt.UTC(), Last: r.LastAt.UTC(), After: days.withinRun(r.DayRun()).MeasuredDays(definition, false),
		}
	}
	found.Ended = r.PeriodEndedAt != nil
	facts.AtStation = found
	r.observed, r.reading = days.versionsOf(found), nil
	if slices.ContainsFunc(days, func(row ObservationRow) bool { return row.isRetracted() }) {
		before, overlap := findLargestOverlap(definition.Occurrences(at.Name, days.MeasuredDays(definition, true)), r.DayRun())
		retracted := func(row ObservationRow) bool { return row.isRetracted() }
		if overlap && slices.ContainsFunc(days.withinRun(before.Run()), retracted) {
			all := facts
			before.Ended = found.Ended
			all.AtStation = before
			r.FactsWithRetracted = &all
		}
	}
	return facts
}

// findLargestOverlap returns the occurrence with the most days of a run, the first of
// equals; found is false when none has a day of it.
func findLargestOverlap(all []trigger.StationOccurrence, run trigger.DayRun) (best *trigger.StationOccurrence, found bool) {
	var most time.Duration
	for i := range all {
		if !all[i].Run().Overlaps(run) {
			continue
		}
		last, first := all[i].Last, all[i].First
		if run.Last.Before(last) {
			last = run.Last
		}
		if run.First.After(first) {
			first = run.First
		}
		if shared := last.Sub(first) + 1; shared > most {
			best, most = &all[i], shared
		}
	}
	return best, best != nil
}

// ParseStationDay splits <station>/<YYYY-MM-DD>.
func ParseStationDay(id string) (station string, day time.Time, ok bool) {
	cut := strings.LastIndexByte(id, '/')
	if cut < 1 {
		return "", day, false
	}
	day, err := time.Parse(time.DateOnly, id[cut+1:])
	return id[:cut], day, err == nil
}

// StationOfDay returns the station of a report of a day.
func (r *ObservationRow) StationOfDay() Station { return Station{r.Scope, r.Source, *r.Station} }
