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
	var rain []*occurrenceRow
	var ids []uuid.UUID
	for _, row := range rows {
		if row.Kind == hazard.StationDay {
			rain = append(rain, row)
			continue
		}
		ids = append(ids, row.stands())
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
	days, err := windowDays(ctx, db, rain)
	if err != nil {
		return nil, err
	}
	for _, row := range rain {
		station, last, ok := stationDay(row.SourceEventID)
		if !ok {
			return nil, fmt.Errorf("window %q names no station and day", row.SourceEventID)
		}
		fell := &rainfall{gauge: gauge{row.Scope, row.Source, station}, rows: days[row.ID], last: last}
		all[row.ID] = &scene{happening: happening{row: row}, eyes: eyes, now: now, rain: fell}
	}
	return all, nil
}

// stands is the id under which an occurrence stands now.
func (r *occurrenceRow) stands() uuid.UUID {
	if r.MergedInto != nil {
		return *r.MergedInto
	}
	return r.ID
}

// longestWindow bounds the days that are read for the windows to one day.
const longestWindow = 400

// windowDays are the days of windows that happened, in order.
func windowDays(ctx context.Context, db bun.IDB, of []*occurrenceRow) (map[uuid.UUID][]observationRow, error) {
	if len(of) == 0 {
		return nil, nil
	}
	all := together(of, func(window *occurrenceRow) *bun.SelectQuery {
		return window.observed(db.NewSelect().Model((*observationRow)(nil))).ColumnExpr("o.*").ColumnExpr("?::uuid as of", window.ID)
	})
	var found []observedRow
	if err := db.NewSelect().TableExpr("(?) as o", all).ColumnExpr("o.*").OrderExpr("o.day").Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("read days: %w", err)
	}
	days := make(map[uuid.UUID][]observationRow, len(of))
	for i := range found {
		days[found[i].Of] = append(days[found[i].Of], found[i].observationRow)
	}
	return days, nil
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
