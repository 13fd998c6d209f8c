package model

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/kernel/store"
	"parapet/model/trigger"
)

// station is a station in one scope, as one source reports it.
type station struct{ scope, source, name string }

// stationAndDefinition returns the station of an occurrence; false for other perils and
// for windows of days recorded before occurrences at stations had a definition.
func (r *occurrenceRow) stationAndDefinition() (station, trigger.Definition, bool) {
	if r.Station == nil || r.Definition == nil {
		return station{}, trigger.Definition{}, false
	}
	definition, ok := trigger.ParseDefinition(*r.Definition)
	return station{r.Scope, r.Source, *r.Station}, definition, ok
}

// dayRun returns the days of an occurrence at a station.
func (r *occurrenceRow) dayRun() trigger.DayRun {
	return trigger.DayRun{First: r.OccurredAt.UTC(), Last: r.LastAt.UTC()}
}

// reportsQuery selects the station's reports for a range of days, in order.
func (s station) reportsQuery(db bun.IDB, into any, from, to time.Time) *bun.SelectQuery {
	return db.NewSelect().Model(into).Where("o.station = ?", s.name).Where("o.source = ?", s.source).Where("o.scope = ?", s.scope).
		Where("o.day between ?::date and ?::date", from, to)
}

func (s station) loadDays(ctx context.Context, db bun.IDB, from, to time.Time) (stationDays, error) {
	var rows []observationRow
	if err := s.reportsQuery(db, &rows, from, to).OrderExpr("o.day").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read days: %w", err)
	}
	return rows, nil
}

// eventID returns the source event id of an occurrence that begins on a day.
func (s station) eventID(day time.Time) string { return s.name + "/" + day.Format(time.DateOnly) }

// stationDays are the observations of a station in order of day, including retracted
// ones.
type stationDays []observationRow

// measuredDays returns the days with a rainfall measurement. A retracted observation
// leaves a missing day, unless withRetracted is set.
func (d stationDays) measuredDays(withRetracted bool) []hazard.Day {
	days := make([]hazard.Day, 0, len(d))
	for i := range d {
		mm := d[i].measuredValue("precipitation")
		if mm == nil || d[i].isRetracted() && !withRetracted {
			continue
		}
		days = append(days, hazard.Day{
			Date: d[i].Day.UTC(), PrecipitationMM: *mm, Preliminary: d[i].Stage == string(trigger.Preliminary),
		})
	}
	return days
}

// withinRun returns the observations of a run of days.
func (d stationDays) withinRun(run trigger.DayRun) stationDays {
	at := func(day time.Time) int {
		i, _ := slices.BinarySearchFunc(d, day, func(row observationRow, day time.Time) int { return row.Day.UTC().Compare(day) })
		return i
	}
	return d[at(run.First):at(run.Last.AddDate(0, 0, 1))]
}

// revisionSum returns a number that grows with every observation of a run and every
// revision of one.
func (d stationDays) revisionSum(run trigger.DayRun) (sum int64) {
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

// loadStationFacts completes the facts of occurrences at stations from the observations
// of their days, read in one statement.
func loadStationFacts(ctx context.Context, db bun.IDB, all []loadedOccurrence) error {
	var of []*occurrenceRow
	for _, o := range all {
		if _, _, ok := o.row.stationAndDefinition(); ok {
			of = append(of, o.row)
		}
	}
	if len(of) == 0 {
		return nil
	}
	query := unionAll(of, func(row *occurrenceRow) *bun.SelectQuery {
		at, _, _ := row.stationAndDefinition()
		return at.reportsQuery(db, (*observationRow)(nil), row.OccurredAt.AddDate(0, 0, -daysReadBefore), row.LastAt.AddDate(0, 0, daysReadAfter)).
			ColumnExpr("o.*").ColumnExpr("?::uuid as of", row.ID)
	})
	var found []observedRow
	if err := db.NewSelect().TableExpr("(?) as o", query).ColumnExpr("o.*").OrderExpr("o.day").Scan(ctx, &found); err != nil {
		return store.TranslateError(fmt.Errorf("read days: %w", err))
	}
	days := make(map[uuid.UUID]stationDays, len(of))
	for i := range found {
		days[found[i].Of] = append(days[found[i].Of], found[i].observationRow)
	}
	for i := range all {
		if _, _, ok := all[i].row.stationAndDefinition(); ok {
			all[i].facts = all[i].row.rainFacts(days[all[i].row.ID])
		}
	}
	return nil
}

// rainFacts returns an occurrence at a station as the trigger evaluates it.
// withRetracted holds the facts that include retracted observations.
func (r *occurrenceRow) rainFacts(days stationDays) trigger.Occurrence {
	at, definition, _ := r.stationAndDefinition()
	facts := trigger.Occurrence{Source: r.Source, SourceEventID: r.SourceEventID, SourceVersion: r.SourceVersion, Stage: r.Stage}
	found, _ := findLargestOverlap(definition.Occurrences(at.name, days.measuredDays(false)), r.dayRun())
	if found == nil { // the revised or retracted days no longer form an occurrence; the known facts follow it
		found = &trigger.RainOccurrence{
			Station: at.name, Definition: definition, First: r.OccurredAt.UTC(), Last: r.LastAt.UTC(), After: days.withinRun(r.dayRun()).measuredDays(false),
		}
	}
	facts.Rain = found
	if slices.ContainsFunc(days, func(row observationRow) bool { return row.isRetracted() }) {
		before, overlap := findLargestOverlap(definition.Occurrences(at.name, days.measuredDays(true)), r.dayRun())
		retracted := func(row observationRow) bool { return row.isRetracted() }
		if overlap && slices.ContainsFunc(days.withinRun(before.Run()), retracted) {
			all := facts
			all.Rain = before
			r.factsWithRetracted = &all
		}
	}
	return facts
}

// findLargestOverlap returns the occurrence with the most days of a run, the first of
// equals; found is false when none has a day of it.
func findLargestOverlap(all []trigger.RainOccurrence, run trigger.DayRun) (best *trigger.RainOccurrence, found bool) {
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

// parseStationDay splits <station>/<YYYY-MM-DD>.
func parseStationDay(id string) (station string, day time.Time, ok bool) {
	cut := strings.LastIndexByte(id, '/')
	if cut < 1 {
		return "", day, false
	}
	day, err := time.Parse(time.DateOnly, id[cut+1:])
	return id[:cut], day, err == nil
}

// findStation returns the station whose report of a day applies to a policy: a
// rehearsed report of its partner takes precedence over a real one. Errors: not_found.
func findStation(ctx context.Context, db bun.IDB, p *policyRow, source, name string, day time.Time) (station, error) {
	row := new(observationRow)
	err := db.NewSelect().Model(row).Where("source = ?", source).Where("station = ?", name).Where("day = ?", day).
		Where("scope in ('', ?)", p.Partner).OrderExpr("scope desc").Limit(1).Scan(ctx)
	if store.IsNoRows(err) {
		return station{}, eventNotFound()
	}
	if err != nil {
		return station{}, fmt.Errorf("read station day: %w", err)
	}
	return station{row.Scope, source, name}, nil
}

// findOccurrenceOn returns the occurrence of a policy's definition that contains a day
// at a station. For a day in no occurrence, because it was too dry, it returns an
// unrecorded occurrence of that day; recorded is false then.
func (s station) findOccurrenceOn(ctx context.Context, db bun.IDB, p *policyRow, day time.Time) (row *occurrenceRow, recorded bool, err error) {
	definition := p.Cover.Trigger.Definition().String()
	row = new(occurrenceRow)
	err = db.NewSelect().Model(row).Where("scope = ?", s.scope).Where("source = ?", s.source).Where("station = ?", s.name).
		Where("definition = ?", definition).Where("merged_into is null").Where("stage <> ?", trigger.Retracted).
		Where("occurred_at <= ? and last_at >= ?", day, day).OrderExpr("id").Limit(1).Scan(ctx)
	if err == nil {
		return row, true, nil
	}
	if !store.IsNoRows(err) {
		return nil, false, fmt.Errorf("read occurrence: %w", err)
	}
	return &occurrenceRow{
		ID: store.NewID(), Scope: s.scope, Source: s.source, SourceEventID: s.eventID(day), Kind: hazard.StationDay,
		OccurredAt: day, LastAt: day, Stage: trigger.Preliminary, Station: new(s.name), Definition: &definition,
	}, false, nil
}
