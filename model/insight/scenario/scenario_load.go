package scenario

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
)

// loadRecordedScenario loads the scenario of a recorded occurrence; a merged one resolves
// to its target. Errors: not_found.
func loadRecordedScenario(ctx context.Context, db bun.IDB, row *occurrence.OccurrenceRow, partner string, now time.Time) (*Scenario, error) {
	all, err := loadRecordedScenarios(ctx, db, []*occurrence.OccurrenceRow{row}, partner, now)
	if err == nil && all[row.ID] == nil {
		err = store.ResourceOccurrence.NotFoundError()
	}
	return all[row.ID], err
}

// loadRecordedScenarios loads the scenarios of several occurrences, by the requested
// ids.
func loadRecordedScenarios(ctx context.Context, db bun.IDB, rows []*occurrence.OccurrenceRow, partner string, now time.Time) (map[uuid.UUID]*Scenario, error) {
	all := make(map[uuid.UUID]*Scenario, len(rows))
	var ids []uuid.UUID
	for _, row := range rows {
		if row.Version > 0 {
			ids = append(ids, row.CurrentID())
			continue
		}
		happened, err := loadUnrecordedDay(ctx, db, row)
		if err != nil {
			return nil, err
		}
		all[row.ID] = &Scenario{LoadedOccurrence: happened, partnerScope: partner, now: now}
	}
	happened, err := occurrence.LoadOccurrences(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		at := slices.IndexFunc(happened, func(h occurrence.LoadedOccurrence) bool { return h.Row.ID == row.CurrentID() })
		if at >= 0 {
			all[row.ID] = &Scenario{LoadedOccurrence: happened[at], partnerScope: partner, now: now}
		}
	}
	return all, nil
}

// loadUnrecordedDay loads a day at a station that belongs to no occurrence.
func loadUnrecordedDay(ctx context.Context, db bun.IDB, row *occurrence.OccurrenceRow) (occurrence.LoadedOccurrence, error) {
	loaded := []occurrence.LoadedOccurrence{{Row: row}}
	err := occurrence.LoadStationFacts(ctx, db, loaded)
	return loaded[0], err
}

// newHypotheticalScenario builds the scenario of a what-if event. Nothing is stored.
func newHypotheticalScenario(ctx context.Context, db bun.IDB, in *WhatIf, at, partner string, now time.Time) (*Scenario, error) {
	reports, err := in.toObservations(now, at)
	if err != nil {
		return nil, err
	}
	rows := make([]occurrence.ObservationRow, len(reports))
	for i, report := range reports {
		row, err := occurrence.NewObservation("", report, now)
		if err != nil {
			return nil, err
		}
		rows[i] = *row
	}
	first, last := &rows[0], &rows[len(rows)-1]
	row := first.NewOccurrence(store.NewID())
	row.LastAt, row.SourceVersion = last.OccurredAt, "1"
	sc := &Scenario{LoadedOccurrence: occurrence.LoadedOccurrence{Row: &row, Facts: row.ToFacts(rows)}, partnerScope: partner, now: now, hypothetical: true}
	if !row.Kind.IsDaily() {
		return sc, nil
	}
	peril := trigger.Rainfall
	if in.Temperature != nil {
		peril = trigger.Temperature
	}
	sc.hypotheticalDays = &hypotheticalDays{
		peril: peril, Station: occurrence.Station{Scope: "", Source: first.Source, Name: *first.Station}, span: trigger.DayRun{First: first.Day.UTC(), Last: last.Day.UTC()},
	}
	return sc, sc.hypotheticalDays.mergeReportedDays(ctx, db, rows)
}

// reportedDaysAround is the number of reported days read before and after the
// hypothetical ones: a spell that they join may be as long.
const reportedDaysAround = 400

// mergeReportedDays replaces reported days by hypothetical ones.
func (r *hypotheticalDays) mergeReportedDays(ctx context.Context, db bun.IDB, supposed []occurrence.ObservationRow) error {
	reported, err := r.LoadDays(ctx, db, r.span.First.AddDate(0, 0, -reportedDaysAround), r.span.Last.AddDate(0, 0, reportedDaysAround))
	if err != nil {
		return err
	}
	days := make(map[time.Time]occurrence.ObservationRow, len(reported)+len(supposed))
	for _, row := range slices.Concat(reported, supposed) {
		days[row.Day.UTC()] = row
	}
	rows := slices.SortedFunc(maps.Values(days), func(a, b occurrence.ObservationRow) int { return a.Day.Compare(*b.Day) })
	r.days = rows
	return nil
}
