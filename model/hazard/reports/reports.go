package reports

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
)

// Report is what one source reports of an event: its own occurrence.
type Report struct {
	occurrence.LoadedOccurrence

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

// Load returns the reports of the event of an occurrence by source: the occurrence
// itself, and of each other source the one that an operator merged with it, or else the one
// that is closest in time among those as close as the rules of the kind say. A retracted
// report stays a report of its event, and gives way to one of its source that stands, also
// if it is the occurrence itself. Names play no part. Occurrences at stations have one source
// and are returned alone.
func Load(ctx context.Context, db bun.IDB, row *occurrence.OccurrenceRow, facts trigger.Occurrence) (map[string]*Report, error) {
	others, err := FindOtherSources(ctx, db, []uuid.UUID{row.ID})
	if err != nil {
		return nil, err
	}
	loaded, err := occurrence.LoadOccurrences(ctx, db, others[row.ID])
	if err != nil {
		return nil, err
	}
	related, err := LoadRelations(ctx, db, append([]uuid.UUID{row.ID}, others[row.ID]...))
	if err != nil {
		return nil, err
	}
	found := newEvent(occurrence.LoadedOccurrence{Row: row, Facts: facts}, loaded, related)
	if err := replaceRetracted(ctx, db, row, found, related); err != nil {
		return nil, err
	}
	return found, loadStageTimes(ctx, db, found)
}

// replaceRetracted replaces the retracted report of a source by one that stands, if the
// closest other report is of the same event: the source reported it again, under another
// id.
func replaceRetracted(ctx context.Context, db bun.IDB, own *occurrence.OccurrenceRow, found map[string]*Report, related map[uuid.UUID]map[uuid.UUID]bool) error {
	if !own.IsRetracted() {
		return nil
	}
	var closest *Report
	for _, r := range found {
		if !r.Row.IsRetracted() && (closest == nil || isCloser(own, r.Row, closest.Row)) {
			closest = r
		}
	}
	if closest == nil {
		return nil
	}
	event, err := Load(ctx, db, closest.Row, closest.Facts)
	if err != nil {
		return err
	}
	if again := event[own.Source]; again != nil && !again.Row.IsRetracted() && !isSplitFrom(related[again.Row.ID], found) {
		found[own.Source] = again
	}
	return nil
}

// LoadEvents returns Load for each of several occurrences, by id. others is the
// result of FindOtherSources for them.
func LoadEvents(ctx context.Context, db bun.IDB, ids []uuid.UUID, others map[uuid.UUID][]uuid.UUID) (map[uuid.UUID]map[string]*Report, error) {
	all := slices.Clone(ids)
	for _, id := range ids {
		all = append(all, others[id]...)
	}
	loaded, err := occurrence.LoadOccurrences(ctx, db, all)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]occurrence.LoadedOccurrence, len(loaded))
	for _, o := range loaded {
		byID[o.Row.ID] = o
	}
	related, err := LoadRelations(ctx, db, all)
	if err != nil {
		return nil, err
	}
	events := make(map[uuid.UUID]map[string]*Report, len(ids))
	for _, id := range ids {
		own, ok := byID[id]
		if !ok {
			continue
		}
		var near []occurrence.LoadedOccurrence
		for _, other := range others[id] {
			if o, ok := byID[other]; ok {
				near = append(near, o)
			}
		}
		events[id] = newEvent(own, near, related)
	}
	return events, loadStageTimes(ctx, db, slices.Collect(maps.Values(events))...)
}

// newEvent selects the reports of an event by source. related are the decisions of
// operators: they count more than times and places. Of two reports that an operator split
// the one that comes first counts.
func newEvent(own occurrence.LoadedOccurrence, others []occurrence.LoadedOccurrence, related map[uuid.UUID]map[uuid.UUID]bool) map[string]*Report {
	found := map[string]*Report{own.Row.Source: {LoadedOccurrence: own}}
	standingFirst := slices.SortedStableFunc(slices.Values(others), func(a, b occurrence.LoadedOccurrence) int {
		return cmp.Compare(retractedRank(a.Row), retractedRank(b.Row))
	})
	for _, o := range standingFirst {
		same, decided := related[own.Row.ID][o.Row.ID]
		if o.Row.Source == own.Row.Source || isSplitFrom(related[o.Row.ID], found) || !decided && !isOneEvent(own.Row.Kind.Rules().Duplicates, lastReported(own), lastReported(o)) {
			continue
		}
		have := found[o.Row.Source]
		if have == nil || have.Row.IsRetracted() == o.Row.IsRetracted() && (same || !related[own.Row.ID][have.Row.ID] && isCloser(own.Row, o.Row, have.Row)) {
			found[o.Row.Source] = &Report{LoadedOccurrence: o}
		}
	}
	return found
}

// retractedRank orders retracted reports after those that stand.
func retractedRank(row *occurrence.OccurrenceRow) int {
	if row.IsRetracted() {
		return 1
	}
	return 0
}

// lastReported returns the facts that say which event a report is about: those before its
// readings were retracted.
func lastReported(o occurrence.LoadedOccurrence) trigger.Occurrence {
	if before := o.Row.FactsWithRetracted; before != nil && o.Facts.Quake == nil {
		return *before
	}
	return o.Facts
}

// isSplitFrom reports whether an operator split an occurrence from one of the reports.
func isSplitFrom(related map[uuid.UUID]bool, reports map[string]*Report) bool {
	for _, r := range reports {
		if same, decided := related[r.Row.ID]; decided && !same {
			return true
		}
	}
	return false
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

// isOneEvent reports whether any two positions are as close as the rules say, and two
// earthquakes of similar size.
func isOneEvent(rules hazard.DuplicateRules, a, b trigger.Occurrence) bool {
	if !rules.Size.IsZero() && a.Quake != nil && b.Quake != nil && a.Quake.Magnitude.Sub(b.Quake.Magnitude).Abs().GreaterThan(rules.Size) {
		return false
	}
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
func isCloser(to, a, than *occurrence.OccurrenceRow) bool {
	left, right := a.OccurredAt.Sub(to.OccurredAt).Abs(), than.OccurredAt.Sub(to.OccurredAt).Abs()
	return left < right || left == right && bytes.Compare(a.ID[:], than.ID[:]) < 0
}

// loadStageTimes reads when the reports reached their stages. An earthquake reached one
// with the first report in it. A storm is final from the last change that made it final.
func loadStageTimes(ctx context.Context, db bun.IDB, events ...map[string]*Report) error {
	reports := make(map[uuid.UUID][]*Report)
	for _, event := range events {
		for _, r := range event {
			reports[r.Row.ID] = append(reports[r.Row.ID], r)
		}
	}
	if len(reports) == 0 {
		return nil
	}
	var times []struct {
		OccurrenceID     uuid.UUID
		FirstAt, FinalAt *time.Time
	}
	err := db.NewRaw(`select occurrence_id, min(at) as first_at, min(at) filter (where stage = 'final') as final_at from (
			select occurrence_id, stage, updated_at as at from observations where occurrence_id in (?0)
			union all select o.occurrence_id, r.body->>'stage', r.recorded_at from observations o join observation_revisions r on r.observation_id = o.id
			where o.occurrence_id in (?0)) reported where stage <> 'retracted' group by occurrence_id`, bun.List(slices.Collect(maps.Keys(reports)))).Scan(ctx, &times)
	if err != nil {
		return store.TranslateError(fmt.Errorf("read when sources reported: %w", err))
	}
	for _, t := range times {
		for _, r := range reports[t.OccurrenceID] {
			r.firstAt, r.finalAt = t.FirstAt, t.FinalAt
		}
	}
	for _, same := range reports {
		for _, r := range same {
			if r.Row.Kind.Rules().Form != hazard.QuakeForm && r.Row.Stage == trigger.Final {
				r.finalAt = &r.Row.UpdatedAt
			}
		}
	}
	return nil
}
