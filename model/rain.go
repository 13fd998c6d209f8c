package model

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// gauge is one station as one source reports it, in the eyes of one scope.
type gauge struct{ scope, source, station string }

// windowKey is a run of days at a gauge: what becomes one occurrence, judged
// for every policy whose term counts that many days.
type windowKey struct {
	gauge

	last time.Time
	days int
}

func (k windowKey) first() time.Time { return k.last.AddDate(0, 0, 1-k.days) }

func (k windowKey) eventID() string { return k.station + "/" + k.last.Format(time.DateOnly) }

// EvaluateRain looks for windows that meet the term of policies at stations
// whose days changed. It may run any number of times.
func (s *Service) EvaluateRain(ctx context.Context, job EvaluateStations) error {
	horizon, err := s.pass(ctx, job.After)
	if err != nil {
		return err
	}
	for _, station := range job.Stations {
		if err := s.evaluateGauge(ctx, gauge{job.Scope, job.Source, station}); err != nil {
			return fmt.Errorf("station %s: %w", station, err)
		}
	}
	if job.After != "" || horizon == nobody {
		return nil
	}
	job.After = horizon
	return s.ask(ctx, job)
}

// insured asks for the policies at the gauge that are not archived.
func (g gauge) insured(db bun.IDB, into any) *bun.SelectQuery {
	q := db.NewSelect().Model(into).Where("p.station = ?", g.station).Where("p.status <> ?", PolicyArchived).OrderExpr("p.id")
	if g.scope != "" {
		q = q.Where("p.partner = ?", g.scope)
	}
	return q
}

// evaluateGauge evaluates all policies at a gauge, a slice at a time. A slice that
// fails is left to jobs of its own.
func (s *Service) evaluateGauge(ctx context.Context, g gauge) error {
	var all []uuid.UUID
	if err := g.insured(s.db, (*policyRow)(nil)).Column("id").Scan(ctx, &all); err != nil {
		return explain(err)
	}
	for slice := range slices.Chunk(all, sliceSize) {
		err := guarded(func() error { return s.evaluateAtGauge(ctx, g, slice) })
		job := EvaluatePolicies{Scope: g.scope, Source: g.source, Station: g.station}
		if err := s.splitOnFailure(ctx, job, slice, err); err != nil {
			return err
		}
	}
	return nil
}

// evaluateAtGauge evaluates some of the policies at a gauge.
func (s *Service) evaluateAtGauge(ctx context.Context, g gauge, ids []uuid.UUID) error {
	var policies []*policyRow
	if err := g.insured(s.db, &policies).Where("p.id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return explain(fmt.Errorf("read policies at the station %s: %w", g.station, err))
	}
	if len(policies) == 0 {
		return nil
	}
	reported, err := g.read(ctx, s.db, policies)
	if err != nil {
		return explain(err)
	}
	taken, err := g.takenWindows(ctx, s.db, policies)
	if err != nil {
		return explain(err)
	}
	found := findWindows(g, policies, rainOf(reported), taken)
	inOrder := func(a, b windowKey) int { return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.days, b.days)) }
	for _, key := range slices.SortedFunc(maps.Keys(found), inOrder) { // what came first is paid first
		err := s.change(ctx, System(), func(ctx context.Context, u *unit) error {
			occ, facts, err := u.window(ctx, key)
			if err != nil {
				return err
			}
			return u.judge(ctx, occ, facts, found[key])
		})
		if err != nil {
			return fmt.Errorf("decide %s: %w", key.eventID(), err)
		}
	}
	return nil
}

// findWindows are the windows that pay for the first time, those whose claims wait
// for final values, and those that a retraction concerns, each with its policies.
func findWindows(g gauge, policies []*policyRow, days []hazard.Day, taken map[uuid.UUID][]takenWindow) map[windowKey][]uuid.UUID {
	found := make(map[windowKey][]uuid.UUID)
	measured := make(map[time.Time]bool, len(days))
	for _, day := range days {
		measured[day.Date] = true
	}
	for _, p := range policies {
		for _, t := range taken[p.ID] {
			missing := slices.ContainsFunc(t.window(p, g.station).Days, func(day hazard.Day) bool { return !measured[day.Date] })
			if t.Scope == g.scope && (t.Status == ClaimDeferred || t.Retraction != nil || missing) {
				key := windowKey{g, t.Last, p.Cover.Trigger.Days}
				found[key] = append(found[key], p.ID)
			}
		}
		for _, w := range g.paying(p, days, taken[p.ID]) {
			key := windowKey{g, w.Last(), p.Cover.Trigger.Days}
			found[key] = append(found[key], p.ID)
		}
	}
	return found
}

// paying are the windows that pay a policy for the first time.
func (g gauge) paying(p *policyRow, days []hazard.Day, taken []takenWindow) []trigger.Window {
	gone := make([]trigger.Window, len(taken))
	for i, t := range taken {
		gone[i] = t.window(p, g.station)
	}
	return trigger.Windows(p.Cover, p.covered(), p.PayableFrom, days, gone)
}

// read is what a gauge reported from the first policy's start to the last one's
// end.
func (g gauge) read(ctx context.Context, db bun.IDB, policies []*policyRow) ([]observationRow, error) {
	from, to := policies[0].EffectiveAt, policies[0].ExpiresAt
	for _, p := range policies {
		from, to = minTime(from, p.EffectiveAt), maxTime(to, p.ExpiresAt)
	}
	return g.between(ctx, db, from, to)
}

// rainOf are the days on which rain was measured.
func rainOf(rows []observationRow) []hazard.Day {
	days := make([]hazard.Day, 0, len(rows))
	for i := range rows {
		if day, ok := rows[i].rain(); ok {
			days = append(days, day)
		}
	}
	return days
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (g gauge) between(ctx context.Context, db bun.IDB, from, to time.Time) ([]observationRow, error) {
	var rows []observationRow
	if err := g.reports(db, &rows, from, to).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read days: %w", err)
	}
	return rows, nil
}

// reports asks for what the gauge reported of the days from one to another.
func (g gauge) reports(db bun.IDB, into *[]observationRow, from, to time.Time) *bun.SelectQuery {
	return db.NewSelect().Model(into).Where("station = ?", g.station).Where("source = ?", g.source).Where("scope = ?", g.scope).
		Where("day between ?::date and ?::date", from, to).OrderExpr("day")
}

// rain is the day's precipitation; false when it was not measured or was retracted.
func (r *observationRow) rain() (hazard.Day, bool) {
	mm := r.measure("precipitation")
	if mm == nil || r.isRetracted() {
		return hazard.Day{}, false
	}
	return hazard.Day{Date: r.Day.UTC(), PrecipitationMM: *mm}, true
}

// facts are the days of a window as they were measured. There is no window in
// them when a day is missing.
func (k windowKey) facts(rows []observationRow) trigger.Occurrence {
	facts := trigger.Occurrence{Source: k.source, SourceEventID: k.eventID(), Stage: trigger.Final}
	window, version := trigger.Window{Station: k.station}, int64(0)
	for i := range rows {
		day, ok := rows[i].rain()
		if !ok || day.Date.Before(k.first()) || day.Date.After(k.last) {
			continue
		}
		window.Days = append(window.Days, day)
		version += rows[i].Version
		if rows[i].Stage != string(trigger.Final) {
			facts.Stage = trigger.Preliminary
		}
	}
	facts.SourceVersion = strconv.FormatInt(version, 10)
	if len(window.Days) == k.days {
		facts.Window = &window
	}
	return facts
}

// window reads the days of a window inside the unit and makes its occurrence
// known. The days are locked, in the order in which recording writes them: what is
// recorded of them meanwhile comes after the decision, and its matching finds it.
func (u *unit) window(ctx context.Context, key windowKey) (*occurrenceRow, trigger.Occurrence, error) {
	var rows []observationRow
	if err := key.reports(u, &rows, key.first(), key.last).For("SHARE").Scan(ctx); err != nil {
		return nil, trigger.Occurrence{}, fmt.Errorf("lock days: %w", err)
	}
	facts := key.facts(rows)
	occ, err := u.windowOccurrence(ctx, key, facts)
	return occ, facts, err
}

func (u *unit) windowOccurrence(ctx context.Context, key windowKey, facts trigger.Occurrence) (*occurrenceRow, error) {
	row := &occurrenceRow{
		ID: newID(), Scope: key.scope, Version: 1, CreatedAt: u.now, UpdatedAt: u.now,
		Source: key.source, SourceEventID: key.eventID(), Kind: hazard.StationDay,
		OccurredAt: key.last, LastAt: key.last, Stage: facts.Stage, SourceVersion: facts.SourceVersion,
	}
	if facts.Window == nil { // a day is not measured any more
		row.Stage = trigger.Retracted
	}
	_, err := u.NewInsert().Model(row).On("conflict on constraint occurrences_source_event_key do update").
		Set("stage = excluded.stage").Set("source_version = excluded.source_version").
		Set("updated_at = excluded.updated_at").Set("version = oc.version + 1").
		Where("(oc.stage, oc.source_version) is distinct from (excluded.stage, excluded.source_version)").Exec(ctx)
	if err == nil {
		err = u.NewSelect().Model(row).Where("scope = ?", key.scope).Where("source = ?", key.source).
			Where("kind = ?", hazard.StationDay).Where("source_event_id = ?", key.eventID()).Scan(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("note window: %w", err)
	}
	return row, nil
}
