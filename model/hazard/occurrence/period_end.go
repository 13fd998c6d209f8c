package occurrence

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
)

// periodEndRow is how far OpenEndedPeriods has looked at the periods of a calendar.
type periodEndRow struct {
	bun.BaseModel `bun:"table:period_ends,alias:pe"`

	Definition string    `bun:",pk"`
	FirstDay   time.Time `bun:"type:date"` // of the oldest period that was not looked at for all stations
	Station    string    // the last one whose period was looked at
}

// stationsPerPeriodStep is how many stations one transaction looks at.
const stationsPerPeriodStep = 100

// OpenEndedPeriods makes months and dekads that are over by the clock occurrences with
// missing days, where covers name the source of the station: a source that falls silent
// would otherwise never be waited for. It looks once at each period, for some stations in
// each transaction, and returns 1 while there may be more.
//
// In a rehearsal, where the clock runs ahead, it looks only at periods of which a day was
// reported: what is not rehearsed did not happen.
func OpenEndedPeriods(ctx context.Context, tx *store.Tx) (int, error) {
	for _, calendar := range trigger.Calendars() {
		row := &periodEndRow{Definition: string(calendar)}
		if err := row.lockOrStart(ctx, tx, calendar); err != nil {
			return 0, err
		}
		period := calendar.Period(row.FirstDay)
		end := period.Last.AddDate(0, 0, 1)
		if tx.Now.Before(end) {
			continue
		}
		stations, more, err := row.findStations(ctx, tx, period)
		if err == nil {
			err = openPeriods(ctx, tx, calendar, period, stations)
		}
		if err != nil {
			return 0, err
		}
		if !more {
			row.FirstDay, row.Station = end, ""
		}
		_, err = tx.NewUpdate().Model(row).WherePK().Exec(ctx)
		return 1, err
	}
	return 0, nil
}

// lockOrStart locks the row. The first time it starts with the present period: a release
// that knows no ended periods may still work the jobs of those before.
func (r *periodEndRow) lockOrStart(ctx context.Context, tx *store.Tx, calendar trigger.Calendar) error {
	err := tx.NewSelect().Model(r).WherePK().For("UPDATE").Scan(ctx)
	if !store.IsNoRows(err) {
		return err
	}
	r.FirstDay = calendar.Period(tx.Now.UTC()).First
	_, err = tx.NewInsert().Model(r).Exec(ctx)
	return err
}

// endedStationsQuery finds the stations, with source and scope, at which covers count a
// period. ?5 is whether the period lies in rehearsed time.
const endedStationsQuery = `with ended as (select station, cover from policies
	where definition = ?0 and status <> 'archived' and station in (?1) and payable_from <= ?2 and expires_at >= ?4 and cover::json->'measurement'->'sources' is not null)
select distinct s.scope, p.station as name, p.source
from (select distinct station, cover::json->'measurement'->'sources'->0->>'source' as source from ended) p
cross join lateral (select '' as scope where not ?5 union select o.scope from observations o
	where o.station = p.station and o.source = p.source and o.day between ?2::date and ?3::date) s
order by p.source, s.scope, p.station`

// findStations returns the next stations of a period, and whether there may be more of
// them after these.
func (r *periodEndRow) findStations(ctx context.Context, tx *store.Tx, period trigger.DayRun) (found []Station, more bool, err error) {
	var names []string
	err = tx.NewRaw("select distinct station from policies where definition = ? and status <> 'archived' and station > ? order by station limit ?", r.Definition, r.Station, stationsPerPeriodStep).Scan(ctx, &names)
	if err != nil || len(names) == 0 {
		return nil, false, err
	}
	r.Station = names[len(names)-1]
	end := period.Last.AddDate(0, 0, 1)
	var rehearsed bool
	if err := tx.NewRaw("select is_rehearsal and ?::timestamptz > clock_timestamp() from clock", end).Scan(ctx, &rehearsed); err != nil {
		return nil, false, err
	}
	err = tx.NewRaw(endedStationsQuery, r.Definition, bun.List(names), period.First, period.Last, end, rehearsed).Scan(ctx, &found)
	return found, len(names) == stationsPerPeriodStep, err
}

// openPeriods opens the period at each of the stations that lacks a day of it, and enqueues
// the evaluation.
func openPeriods(ctx context.Context, tx *store.Tx, calendar trigger.Calendar, period trigger.DayRun, stations []Station) error {
	definition, _ := trigger.ParseDefinition(string(calendar))
	for _, at := range slices.CompactFunc(slices.Clone(stations), func(a, b Station) bool { return a.Scope == b.Scope && a.Source == b.Source }) {
		if err := lockSource(ctx, tx, at.Scope, at.Source); err != nil { // in the order in which batches lock them
			return err
		}
	}
	var opened []string
	for _, at := range stations {
		l := stationLinker{Tx: tx, station: at, definition: definition, changedRun: period}
		if err := l.openPeriod(ctx); err != nil {
			return fmt.Errorf("open the period of %s at %s: %w", period.First.Format(time.DateOnly), at.Name, err)
		}
		for _, id := range l.changedIDs {
			opened = append(opened, store.ResourceOccurrence.FormatID(id))
		}
	}
	if len(opened) > 0 {
		tx.EnqueueJob(EvaluateOccurrences{Occurrences: opened})
	}
	return nil
}

// openPeriod saves the period of the changed days as one that is over, if days are missing
// and no later day was reported. The caller holds the lock of the source.
func (l *stationLinker) openPeriod(ctx context.Context) (err error) {
	period := l.changedRun
	if l.days, err = l.station.LoadDays(ctx, l, period.First, period.Last.AddDate(0, 0, daysReadAfter)); err != nil {
		return err
	}
	o := trigger.StationOccurrence{Station: l.station.Name, Definition: l.definition, First: period.First, Last: period.Last}
	if found, known := findLargestOverlap(l.definition.Occurrences(l.station.Name, l.days.MeasuredDays(l.definition, false)), period); known {
		o = *found
	}
	if o.IsOver() {
		return nil
	}
	all := []trigger.StationOccurrence{o}
	if err := l.lockKnownOccurrences(ctx, all); err != nil {
		return err
	}
	row := l.newOccurrence(o)
	row.PeriodEndedAt = &l.Now
	known := l.findContinued(all, 0, map[uuid.UUID]bool{})
	if len(known) == 0 {
		return l.insertOccurrence(ctx, row)
	}
	known[0].PeriodEndedAt = &l.Now
	return l.updateOccurrence(ctx, known[0], row.SourceVersion)
}
