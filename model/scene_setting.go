package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
)

// past is the scene of an occurrence that was recorded; a merged one leads to the
// one it became.
func past(ctx context.Context, db bun.IDB, row *occurrenceRow, eyes string, now time.Time) (*scene, error) {
	sc := &scene{happening: happening{row: row}, eyes: eyes, now: now}
	if row.Kind == hazard.StationDay {
		return sc, sc.measured(ctx, db)
	}
	id := row.ID
	if row.MergedInto != nil {
		id = *row.MergedInto
	}
	happened, err := happened(ctx, db, []uuid.UUID{id})
	if err == nil && len(happened) == 0 {
		err = nounOccurrence.notFound()
	}
	if err != nil {
		return nil, err
	}
	sc.happening = happened[0]
	return sc, nil
}

// longestWindow bounds the days that are read for the windows to one day.
const longestWindow = 400

// measured reads the days of a window that happened.
func (sc *scene) measured(ctx context.Context, db bun.IDB) error {
	station, last, ok := stationDay(sc.row.SourceEventID)
	if !ok {
		return fmt.Errorf("window %q names no station and day", sc.row.SourceEventID)
	}
	sc.rain = &rainfall{gauge: gauge{sc.row.Scope, sc.row.Source, station}, last: last}
	var err error
	sc.rain.rows, err = sc.rain.between(ctx, db, last.AddDate(0, 0, 1-longestWindow), last)
	return err
}

// might is the scene of what did not happen.
func might(ctx context.Context, db bun.IDB, in *AsIf, eyes string, now time.Time) (*scene, error) {
	reports, err := in.reports(now)
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
	sc.rain = &rainfall{gauge: gauge{eyes, first.Source, *first.Station}, last: *last.Day}
	return sc, sc.rain.overlay(ctx, db, rows)
}

// overlay lays as-if days over the reported ones.
func (r *rainfall) overlay(ctx context.Context, db bun.IDB, asIf []observationRow) error {
	from, to := asIf[0].Day.AddDate(0, 0, -longestWindow), asIf[len(asIf)-1].Day.AddDate(0, 0, longestWindow)
	reported, err := gauge{"", r.source, r.station}.between(ctx, db, from, to)
	if err != nil {
		return err
	}
	days := make(map[time.Time]observationRow, len(reported)+len(asIf))
	for _, row := range slices.Concat(reported, asIf) {
		days[row.Day.UTC()] = row
	}
	r.rows = make([]observationRow, 0, len(days))
	for _, row := range days {
		r.rows = append(r.rows, row)
	}
	slices.SortFunc(r.rows, func(a, b observationRow) int { return a.Day.Compare(*b.Day) })
	return nil
}
