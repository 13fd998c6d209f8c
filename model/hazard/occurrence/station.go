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
	"parapet/model/underwriting"
)

// Station is a station in one scope, as one source reports it.
type Station struct{ Scope, Source, Name string }

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

// FindStationDay returns the report of a day at a station that a source's id names for a
// policy: <station>/<day>, or the id under which a day at the policy's station was
// recorded. A rehearsed report of the policy's partner takes precedence over a real one.
// A source may record several days under one id: the latest that belongs to an occurrence
// of the policy's definition takes precedence. found is false for other ids, and for a
// policy that covers no station.
func FindStationDay(ctx context.Context, db bun.IDB, p *underwriting.PolicyRow, source, id string) (row *ObservationRow, found bool, err error) {
	if p.Station == nil {
		return nil, false, nil
	}
	reports := func() *bun.SelectQuery {
		row = new(ObservationRow)
		return db.NewSelect().Model(row).Where("o.source = ?", source).Where("o.scope in ('', ?)", p.Partner).OrderExpr("o.scope desc").Limit(1)
	}
	name, day, named := ParseStationDay(id)
	if named {
		err = reports().Where("o.station = ?", name).Where("o.day = ?", day).Scan(ctx)
	}
	if !named || store.IsNoRows(err) {
		err = reports().Where("o.station = ?", *p.Station).Where("o.source_event_id = ?", id).
			OrderExpr("exists (?) desc, o.day desc", reportedOccurrences(db, p)).Scan(ctx)
	}
	if store.IsNoRows(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read station day: %w", err)
	}
	return row, true, nil
}

// reportedOccurrences selects the occurrences that contain the day of the report o.
func reportedOccurrences(db bun.IDB, p *underwriting.PolicyRow) *bun.SelectQuery {
	return standingOccurrences(db, nil, p).ColumnExpr("1").Where("oc.scope = o.scope").Where("oc.source = o.source").Where("oc.station = o.station").
		Where("o.day::timestamp at time zone 'UTC' between oc.occurred_at and oc.last_at")
}

// standingOccurrences selects the occurrences of a policy's definition, except merged and
// retracted ones.
func standingOccurrences(db bun.IDB, into *OccurrenceRow, p *underwriting.PolicyRow) *bun.SelectQuery {
	return db.NewSelect().Model(into).Where("oc.definition = ?", p.Cover.Trigger.Definition().String()).
		Where("oc.merged_into is null").Where("oc.stage <> ?", trigger.Retracted)
}

// StationOfDay returns the station of a report of a day.
func (r *ObservationRow) StationOfDay() Station { return Station{r.Scope, r.Source, *r.Station} }

// FindOccurrenceOn returns the occurrence of a policy's definition that contains a day
// at a station. For a day in no occurrence, because it was too dry, it returns an
// unrecorded occurrence of that day; recorded is false then.
func (s Station) FindOccurrenceOn(ctx context.Context, db bun.IDB, p *underwriting.PolicyRow, day time.Time) (row *OccurrenceRow, recorded bool, err error) {
	row = new(OccurrenceRow)
	err = standingOccurrences(db, row, p).Where("scope = ?", s.Scope).Where("source = ?", s.Source).Where("station = ?", s.Name).
		Where("occurred_at <= ? and last_at >= ?", day, day).OrderExpr("id").Limit(1).Scan(ctx)
	if err == nil {
		return row, true, nil
	}
	if !store.IsNoRows(err) {
		return nil, false, fmt.Errorf("read occurrence: %w", err)
	}
	return &OccurrenceRow{
		ID: store.NewID(), Scope: s.Scope, Source: s.Source, SourceEventID: s.EventID(day), Kind: hazard.StationDay,
		OccurredAt: day, LastAt: day, Stage: trigger.Preliminary, Station: new(s.Name), Definition: new(p.Cover.Trigger.Definition().String()),
	}, false, nil
}
