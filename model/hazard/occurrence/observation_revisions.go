package occurrence

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/replica"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// reportedVersion is one report of an observation with the report before it.
type reportedVersion struct {
	Version    int64
	RecordedAt time.Time
	Body       wire.ObservationInput  `bun:"type:json"`
	Before     *wire.ObservationInput `bun:"type:json"` // nil for the first report
}

// versionsQuery reads the reports of an observation, the current one included.
const versionsQuery = `select version, recorded_at, body, lag(body) over (order by version) as before from (
	select version, updated_at as recorded_at, body from observations where id = ?0
	union all select version, recorded_at, body from observation_revisions where observation_id = ?0) v`

// ListRevisions returns every report of an observation that the caller may see, the first
// one first, each as the record was after it. Errors: parameter_invalid, cursor_invalid,
// not_found.
func (s *Service) ListRevisions(ctx context.Context, caller actor.Actor, id string, in store.PageRequest) (*store.Page[wire.ObservationRevision], error) {
	now, err := s.GetObservation(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	p, err := s.ParsePage(caller, in, "revisions/"+now.ID, store.SortOldestFirst)
	if err != nil {
		return nil, err
	}
	key, err := store.ResourceObservation.ParseID(now.ID)
	if err != nil {
		return nil, err
	}
	all := s.DB.NewSelect().TableExpr("("+versionsQuery+") as v", key)
	p.Count = s.NewCounter(all.Clone().ColumnExpr("1"))
	direction := p.Order.Reversed(p.Last)
	if p.After != "" {
		after, err := strconv.ParseInt(p.After, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("cursor of revisions: %w", err)
		}
		all = all.Where("v.version "+direction.Comparison+" ?", after)
	}
	var rows []reportedVersion
	err = s.ReadReplica(ctx, func(ctx context.Context, from replica.Source) error {
		rows = nil
		return all.Conn(from.DB).ColumnExpr("v.*").OrderExpr("v.version "+direction.Keyword).Limit(p.FetchLimit()).Scan(ctx, &rows)
	})
	if err != nil {
		return nil, store.TranslateError(fmt.Errorf("list revisions: %w", err))
	}
	return store.NewPage(p, rows, func(r *reportedVersion) string { return strconv.FormatInt(r.Version, 10) }, func(r *reportedVersion) wire.ObservationRevision { return r.toRecord(now) })
}

// toRecord returns the observation as it was after the report.
func (r *reportedVersion) toRecord(now *wire.Observation) wire.ObservationRevision {
	record := wire.ObservationRevision{Observation: *now, RecordedAt: r.RecordedAt, Changed: []string{}}
	record.Object, record.Version, record.UpdatedAt, record.ObservationInput = "observation_revision", r.Version, r.RecordedAt, r.Body
	if r.Before != nil {
		record.Changed = changedMembers(*r.Before, r.Body)
	}
	return record
}

// changedMembers returns the members that differ between two reports, as JSON pointers in
// the order of their names.
func changedMembers(before, after wire.ObservationInput) []string {
	changed := []string{}
	add := func(name string, same bool) {
		if !same {
			changed = append(changed, apperr.JSONPointer(name))
		}
	}
	add("aliases", slices.Equal(before.Aliases, after.Aliases))
	add("location", equalValues(before.Location, after.Location))
	names := slices.Collect(maps.Keys(before.Measures))
	names = slices.AppendSeq(names, maps.Keys(after.Measures))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if before.Measures[name] != after.Measures[name] {
			changed = append(changed, apperr.JSONPointer("measures", name))
		}
	}
	add("occurred_at", before.OccurredAt.Equal(after.OccurredAt))
	add("replayed_from", equalTimes(before.ReplayedFrom, after.ReplayedFrom))
	add("revision", equalValues(before.Revision, after.Revision))
	add("source_event_id", before.SourceEventID == after.SourceEventID)
	add("stage", before.Stage == after.Stage)
	return changed
}

// equalValues reports whether both are nil or have the same value.
func equalValues[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func equalTimes(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}
