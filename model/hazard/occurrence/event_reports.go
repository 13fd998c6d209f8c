package occurrence

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
)

// Report is what one source reports of an event: its own occurrence.
type Report struct {
	LoadedOccurrence

	firstAt, finalAt *time.Time // when it first had values, and final ones
}

// CountedAt returns when the report first reached a stage; ok is false when it has not
// reached it or was retracted.
func (r *Report) CountedAt(stage trigger.Stage) (at time.Time, ok bool) {
	reached := r.firstAt
	if stage == trigger.Final {
		reached = r.finalAt
	}
	if reached == nil || r.Row.IsRetracted() || stage == trigger.Final && r.Facts.Stage != trigger.Final {
		return time.Time{}, false
	}
	return *reached, true
}

// EventWindow bounds how long before another occurrence a storm of the same event began.
const EventWindow = 60 * 24 * time.Hour

// LoadReports returns the reports of the event of an occurrence by source: the occurrence
// itself, and of each other source the occurrence that is closest in time among those as
// close as the rules of the kind say. Names play no part. Occurrences at stations have one
// source and are returned alone.
func LoadReports(ctx context.Context, db bun.IDB, row *OccurrenceRow, facts trigger.Occurrence) (map[string]*Report, error) {
	own := &Report{LoadedOccurrence: LoadedOccurrence{Row: row, Facts: facts}}
	found := map[string]*Report{row.Source: own}
	if !row.Kind.IsDaily() {
		others, err := loadOtherSources(ctx, db, row)
		if err != nil {
			return nil, err
		}
		for i := range others {
			if o := &others[i]; !isOneEvent(row.Kind.Rules().Duplicates, facts, o.Facts) {
				continue
			} else if have := found[o.Row.Source]; have == nil || isCloser(row, o.Row, have.Row) {
				found[o.Row.Source] = &Report{LoadedOccurrence: *o}
			}
		}
	}
	return found, loadStageTimes(ctx, db, found)
}

// loadOtherSources reads the occurrences of other sources that overlap an occurrence in
// time.
func loadOtherSources(ctx context.Context, db bun.IDB, row *OccurrenceRow) ([]LoadedOccurrence, error) {
	margin := row.Kind.Rules().Duplicates.Time
	var ids []uuid.UUID
	err := db.NewSelect().Model((*OccurrenceRow)(nil)).Column("id").Where("kind = ?", row.Kind).Where("scope = ?", row.Scope).Where("source <> ?", row.Source).
		Where("merged_into is null").Where("occurred_at between ? and ?", row.OccurredAt.Add(-margin-EventWindow), row.LastAt.Add(margin)).
		Where("last_at >= ?", row.OccurredAt.Add(-margin)).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("read occurrences of other sources: %w", err)
	}
	return LoadOccurrences(ctx, db, ids)
}

// position is where an event was at a time.
type position struct {
	at    time.Time
	where hazard.Point
}

func positionsOf(facts trigger.Occurrence) (all []position) {
	if q := facts.Quake; q != nil {
		return []position{{q.At, q.Where}}
	}
	if facts.Storm != nil {
		for _, fix := range facts.Storm.Fixes {
			all = append(all, position{fix.At, fix.Where})
		}
	}
	return all
}

// isOneEvent reports whether any two positions are as close as the rules say.
func isOneEvent(rules hazard.DuplicateRules, a, b trigger.Occurrence) bool {
	others := positionsOf(b)
	for _, p := range positionsOf(a) {
		for _, q := range others {
			if p.at.Sub(q.at).Abs() <= rules.Time && hazard.Distance(p.where, q.where) <= rules.KM {
				return true
			}
		}
	}
	return false
}

// isCloser reports whether an occurrence began closer to another one than a third did.
func isCloser(to, a, than *OccurrenceRow) bool {
	left, right := a.OccurredAt.Sub(to.OccurredAt).Abs(), than.OccurredAt.Sub(to.OccurredAt).Abs()
	return left < right || left == right && bytes.Compare(a.ID[:], than.ID[:]) < 0
}

// loadStageTimes reads when the reports reached their stages. An earthquake reached one
// with the first report in it. A storm is final from the last change that made it final.
func loadStageTimes(ctx context.Context, db bun.IDB, reports map[string]*Report) error {
	ids := make([]uuid.UUID, 0, len(reports))
	for _, r := range reports {
		ids = append(ids, r.Row.ID)
	}
	var times []struct {
		OccurrenceID     uuid.UUID
		FirstAt, FinalAt *time.Time
	}
	err := db.NewRaw(`select occurrence_id, min(at) as first_at, min(at) filter (where stage = 'final') as final_at from (
			select occurrence_id, stage, updated_at as at from observations where occurrence_id in (?0)
			union all select o.occurrence_id, r.body->>'stage', r.recorded_at from observations o join observation_revisions r on r.observation_id = o.id
			where o.occurrence_id in (?0)) reported where stage <> 'retracted' group by occurrence_id`, bun.List(ids)).Scan(ctx, &times)
	if err != nil {
		return store.TranslateError(fmt.Errorf("read when sources reported: %w", err))
	}
	for _, r := range reports {
		for _, t := range times {
			if t.OccurrenceID == r.Row.ID {
				r.firstAt, r.finalAt = t.FirstAt, t.FinalAt
			}
		}
		if r.Row.Kind.Rules().Form != hazard.QuakeForm && r.Row.Stage == trigger.Final {
			r.finalAt = &r.Row.UpdatedAt
		}
	}
	return nil
}
