package model

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/trigger"
)

// past is the scene of an occurrence that was recorded; a merged one leads to the
// one it became. Errors: not_found.
func past(ctx context.Context, db bun.IDB, row *occurrenceRow, eyes string, now time.Time) (*scene, error) {
	all, err := pasts(ctx, db, []*occurrenceRow{row}, eyes, now)
	if err == nil && all[row.ID] == nil {
		err = nounOccurrence.notFound()
	}
	return all[row.ID], err
}

// pasts are the scenes of several occurrences, by the ids they were asked by.
func pasts(ctx context.Context, db bun.IDB, rows []*occurrenceRow, eyes string, now time.Time) (map[uuid.UUID]*scene, error) {
	all := make(map[uuid.UUID]*scene, len(rows))
	var ids []uuid.UUID
	for _, row := range rows {
		if row.Version > 0 {
			ids = append(ids, row.stands())
			continue
		}
		happened, err := unrecorded(ctx, db, row)
		if err != nil {
			return nil, err
		}
		all[row.ID] = &scene{happening: happened, eyes: eyes, now: now}
	}
	happened, err := happened(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		at := slices.IndexFunc(happened, func(h happening) bool { return h.row.ID == row.stands() })
		if at >= 0 {
			all[row.ID] = &scene{happening: happened[at], eyes: eyes, now: now}
		}
	}
	return all, nil
}

// unrecorded is a day at a station that lies in no occurrence.
func unrecorded(ctx context.Context, db bun.IDB, row *occurrenceRow) (happening, error) {
	loaded := []happening{{row: row}}
	err := stationFacts(ctx, db, loaded)
	return loaded[0], err
}

// stands is the id under which an occurrence stands now.
func (r *occurrenceRow) stands() uuid.UUID {
	if r.MergedInto != nil {
		return *r.MergedInto
	}
	return r.ID
}

// might is the scene of what did not happen.
func might(ctx context.Context, db bun.IDB, in *AsIf, at, eyes string, now time.Time) (*scene, error) {
	reports, err := in.reports(now, at)
	if err != nil {
		return nil, err
	}
	rows := make([]observationRow, len(reports))
	for i, report := range reports {
		row, err := newObservation("", report, now)
		if err != nil {
			return nil, err
		}
		rows[i] = *row
	}
	first, last := &rows[0], &rows[len(rows)-1]
	row := first.occurrence(newID())
	row.LastAt, row.SourceVersion = last.OccurredAt, "1"
	sc := &scene{happening: happening{&row, row.facts(rows)}, eyes: eyes, now: now, mere: true}
	if in.Rain == nil {
		return sc, nil
	}
	sc.rain = &supposedRain{
		station: station{"", first.Source, *first.Station}, given: trigger.DayRun{First: first.Day.UTC(), Last: last.Day.UTC()},
	}
	return sc, sc.rain.overlay(ctx, db, rows)
}

// reportedAround is how many days before and behind the supposed ones are read of what
// was reported: a spell that they join may be as long.
const reportedAround = 400

// overlay lays supposed days over the reported ones.
func (r *supposedRain) overlay(ctx context.Context, db bun.IDB, supposed []observationRow) error {
	reported, err := r.read(ctx, db, r.given.First.AddDate(0, 0, -reportedAround), r.given.Last.AddDate(0, 0, reportedAround))
	if err != nil {
		return err
	}
	days := make(map[time.Time]observationRow, len(reported)+len(supposed))
	for _, row := range slices.Concat(reported, supposed) {
		days[row.Day.UTC()] = row
	}
	rows := slices.SortedFunc(maps.Values(days), func(a, b observationRow) int { return a.Day.Compare(*b.Day) })
	r.days = stationDays(rows).known(false)
	return nil
}
