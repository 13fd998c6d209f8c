package occurrence

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/wire"
)

// RecordFinalTrack records all fixes of one storm. Preliminary fixes that the final track
// lacks are retracted, and deferred claims are decided. If one fix is rejected, the whole
// track is rejected.
func (s *Service) RecordFinalTrack(ctx context.Context, actor actor.Actor, in []wire.ObservationInput, sandbox bool) ([]wire.ObservationResult, error) {
	return s.ingestBatch(ctx, actor, in, sandbox, requireOneTrack)
}

// RecordFinalTracks is RecordFinalTrack for several storms, each with all its fixes.
func (s *Service) RecordFinalTracks(ctx context.Context, actor actor.Actor, in []wire.ObservationInput) ([]wire.ObservationResult, error) {
	return s.ingestBatch(ctx, actor, in, false, requireFinalFixes)
}

// trackValidation validates the common fields of all observations of final tracks.
type trackValidation func(v *apperr.Validator, in []wire.ObservationInput)

func requireFinalFixes(v *apperr.Validator, in []wire.ObservationInput) {
	other := slices.ContainsFunc(in, func(o wire.ObservationInput) bool { return !o.Kind.IsFix() || o.Stage != trigger.Final })
	v.Require(!other, "/final_track", "value", "A final track has observations of kind storm_fix and stage final only.")
}

func requireOneTrack(v *apperr.Validator, in []wire.ObservationInput) {
	requireFinalFixes(v, in)
	other := slices.ContainsFunc(in, func(o wire.ObservationInput) bool {
		return o.Source != in[0].Source || o.SourceEventID != in[0].SourceEventID
	})
	v.Require(!other, "/final_track", "value", "A final track holds the fixes of one storm: give all of them the same source and source_event_id.")
}

// TrackIncomplete is the code of a fix that was rejected because another fix of its track
// was.
const TrackIncomplete = "track_incomplete"

// incompleteTrackError rejects a valid fix because another fix of its track is invalid.
var incompleteTrackError = apperr.FieldError{
	Pointer: "", Code: TrackIncomplete, Detail: "Nothing of the final track was kept, because another of its fixes was rejected. Send the whole track again.",
}

// rejectIncompleteTracks rejects all fixes of a storm when one was rejected.
func (r *ingestion) rejectIncompleteTracks(in []wire.ObservationInput, rows []*ObservationRow) {
	type storm struct{ source, id string }
	incomplete := make(map[storm]bool)
	for i, row := range rows {
		if row == nil {
			incomplete[storm{in[i].Source, in[i].SourceEventID}] = true
		}
	}
	for i, row := range rows {
		if row != nil && incomplete[storm{row.Source, row.SourceEventID}] {
			rows[i], r.results[i].Errors = nil, []apperr.FieldError{incompleteTrackError}
		}
	}
}

// stormNames returns the ids of the storms among rows.
func stormNames(rows []*ObservationRow) []string {
	var names []string
	for _, row := range rows {
		if row.Kind.IsFix() {
			names = append(append(names, row.SourceEventID), row.Body.Aliases...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// supersededFixError rejects a preliminary fix of a storm that has a final track.
var supersededFixError = apperr.FieldError{
	Pointer: "/stage", Code: "superseded", Detail: "The final track of this storm was reported; a fix that it lacks can only be added as final.",
}

// rejectSuperseded rejects preliminary fixes of storms that have a final track, and
// returns the others.
func (r *ingestion) rejectSuperseded(ctx context.Context, source string, rows []*ObservationRow, indexes []int) ([]int, error) {
	var preliminary []*ObservationRow
	for _, i := range indexes {
		if rows[i].Stage == string(trigger.Preliminary) {
			preliminary = append(preliminary, rows[i])
		}
	}
	names := stormNames(preliminary)
	if len(names) == 0 {
		return indexes, nil
	}
	var complete []string
	err := r.queryStorms(source, names).ColumnExpr("a.alias").Join("join occurrences oc on oc.id = a.occurrence_id").
		Where("oc.final_track_at is not null").Scan(ctx, &complete)
	if err != nil {
		return nil, fmt.Errorf("read final tracks: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(indexes), func(i int) bool {
		superseded := rows[i].Kind.IsFix() && rows[i].Stage == string(trigger.Preliminary) &&
			slices.ContainsFunc(stormNames(rows[i:i+1]), func(name string) bool { return slices.Contains(complete, name) })
		if superseded {
			r.results[i].Errors = []apperr.FieldError{supersededFixError}
		}
		return superseded
	}), nil
}

// replacesAsFinal reports whether a fix of a final track replaces an earlier report
// although its revision is not newer: always for a preliminary fix, and for a retracted
// fix of the same revision. Otherwise such a storm could never become final.
func (r *ObservationRow) replacesAsFinal(before *ObservationRow) bool {
	switch {
	case bytes.Equal(r.Digest, before.Digest):
		return false
	case before.isRetracted():
		return r.Revision != nil && before.Revision != nil && *r.Revision == *before.Revision
	default:
		return before.Stage == string(trigger.Preliminary)
	}
}

// queryStorms selects the storms that a source's ids refer to.
func (r *ingestion) queryStorms(source string, names []string) *bun.SelectQuery {
	return r.NewSelect().TableExpr("occurrence_aliases as a").Where("a.scope = ?", r.scope).Where("a.source = ?", source).
		Where("a.kind in (?)", bun.List(hazard.FixKinds())).Where("a.alias in (?)", bun.List(names))
}

// retractMissingFixes retracts the preliminary fixes of the storms among rows that rows
// do not contain.
func (r *ingestion) retractMissingFixes(ctx context.Context, source string, rows []*ObservationRow) error {
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.NaturalKey
	}
	var missing []*ObservationRow
	err := r.NewSelect().Model(&missing).Where("scope = ?", r.scope).Where("source = ?", source).
		Where("kind in (?)", bun.List(hazard.FixKinds())).Where("stage = ?", trigger.Preliminary).
		Where("occurrence_id in (?)", r.queryStorms(source, stormNames(rows)).ColumnExpr("a.occurrence_id")).
		Where("natural_key not in (?)", bun.List(keys)).OrderExpr("natural_key").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read preliminary fixes: %w", err)
	}
	for _, before := range missing {
		row := *before
		row.Stage, row.Version, row.UpdatedAt = string(trigger.Retracted), before.Version+1, r.Now
		row.retract(before)
		r.changed, r.revised = append(r.changed, &row), append(r.revised, before.toRevision())
	}
	return nil
}

// completeTracks marks the storms among rows as having their final track, and returns
// those newly marked.
func (r *ingestion) completeTracks(ctx context.Context, source string, rows []*ObservationRow) ([]uuid.UUID, error) {
	var completed []uuid.UUID
	err := r.NewRaw("update occurrences set final_track_at = ? where final_track_at is null and id in (?) returning id",
		r.Now, r.queryStorms(source, stormNames(rows)).ColumnExpr("a.occurrence_id")).Scan(ctx, &completed)
	if err != nil {
		return nil, fmt.Errorf("complete tracks: %w", err)
	}
	return completed, nil
}
