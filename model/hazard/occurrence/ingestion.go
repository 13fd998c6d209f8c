package occurrence

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/hazard/sources"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// ingestion records one batch of observations in a few statements.
type ingestion struct {
	*store.Tx

	scope          string
	sandbox        bool      // recorded in the sandbox
	rehearsalClock bool      // the clock follows the actor's days; see MayMoveClock
	realTime       time.Time // for the rehearsal clock: the database's time without the shift
	wholeStorms    bool      // the batch has all fixes of its storms
	results        []wire.ObservationResult
	changed        []*ObservationRow // created or revised, in the order of the batch
	revised        []revisionRow
}

// ingest validates each observation, writes new and revised ones, links them to their
// occurrences and enqueues the evaluation. unread has, for each observation, the errors
// of members that could not be parsed.
func (r *ingestion) ingest(ctx context.Context, in []wire.ObservationInput, unread [][]apperr.FieldError) error {
	if r.sandbox {
		if err := r.followRehearsedDays(ctx, in, unread); err != nil {
			return err
		}
	}
	registry, err := r.loadRegistry(ctx, in)
	if err != nil {
		return err
	}
	rows := make([]*ObservationRow, len(in))
	for i, each := range in {
		r.results[i] = wire.ObservationResult{Index: i, Result: ResultRejected}
		completeRetraction(&each)
		r.results[i].Errors = CheckObservation(r.Actor, &each, r.Now, unread[i])
		if fault := registry.Require(each.Source, sources.PerilsOf(each.Kind), each.Stage, &r.Actor); fault != nil && len(r.results[i].Errors) == 0 {
			r.results[i].Errors = []apperr.FieldError{*fault}
		}
		if len(r.results[i].Errors) > 0 {
			if r.sandbox && each.Kind.IsDaily() {
				r.explainFuture(r.results[i].Errors)
			}
			continue
		}
		row, err := NewObservation(r.scope, each, r.Now)
		if err != nil {
			return err
		}
		rows[i] = row
	}
	if r.wholeStorms {
		r.rejectIncompleteTracks(in, rows)
	}
	bySource := make(map[string][]int)
	for i, row := range rows {
		if row != nil {
			bySource[row.Source] = append(bySource[row.Source], i)
		}
	}
	for _, source := range slices.Sorted(maps.Keys(bySource)) { // all batches take the locks in the same order
		if err := r.ingestSource(ctx, source, rows, bySource[source]); err != nil {
			return err
		}
	}
	return nil
}

// loadRegistry reads the registrations of the sources of a batch.
func (r *ingestion) loadRegistry(ctx context.Context, in []wire.ObservationInput) (sources.Registry, error) {
	names := make([]string, 0, len(in))
	for i := range in {
		names = append(names, in[i].Source)
	}
	return sources.Load(ctx, r, names, r.Store.Development)
}

// ingestSource records one source's observations. It locks the source, so that two
// batches never race for the same occurrence.
func (r *ingestion) ingestSource(ctx context.Context, source string, rows []*ObservationRow, indexes []int) error {
	if err := lockSource(ctx, r.Tx, r.scope, source); err != nil {
		return err
	}
	indexes, err := r.rejectSuperseded(ctx, source, rows, indexes)
	if err != nil || len(indexes) == 0 {
		return err
	}
	previous, err := r.loadPrevious(ctx, source, rows, indexes)
	if err != nil {
		return err
	}
	r.changed, r.revised = nil, nil
	for _, i := range indexes {
		if rows[i].isRetracted() && previous[rows[i].NaturalKey] == nil {
			r.results[i].Errors = []apperr.FieldError{unknownObservation}
			continue
		}
		r.results[i].Result = r.compareWithPrevious(rows[i], previous)
		id := store.ResourceObservation.FormatID(previous[rows[i].NaturalKey].ID)
		r.results[i].ID = &id
	}
	var reported []*ObservationRow
	for _, i := range indexes {
		reported = append(reported, rows[i])
	}
	return r.applyChanges(ctx, source, reported)
}

// applyChanges writes the changes of one source and enqueues the evaluation.
func (r *ingestion) applyChanges(ctx context.Context, source string, reported []*ObservationRow) error {
	if r.wholeStorms {
		if err := r.retractMissingFixes(ctx, source, reported); err != nil {
			return err
		}
	}
	var occurrences []uuid.UUID
	if len(r.changed) > 0 {
		var err error
		if occurrences, err = r.link(ctx, source); err != nil { // by the names of all reports, replaced ones too
			return err
		}
		r.changed = latestPerObservation(r.changed)
		if err := r.saveObservations(ctx); err != nil {
			return err
		}
		if err := r.refreshOccurrences(ctx, occurrences); err != nil {
			return err
		}
		atStations, err := r.linkStations(ctx, source)
		if err != nil {
			return err
		}
		occurrences = append(occurrences, atStations...)
	}
	if r.wholeStorms {
		completed, err := r.completeTracks(ctx, source, reported)
		if err != nil {
			return err
		}
		occurrences = append(occurrences, completed...)
		slices.SortFunc(occurrences, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		occurrences = slices.Compact(occurrences)
	}
	r.enqueueEvaluation(occurrences)
	return r.updateMoratoriaOfChanges(ctx)
}

// unknownObservation rejects the retraction of an observation that was never reported.
var unknownObservation = apperr.FieldError{
	Pointer: "/source_event_id", Code: string(apperr.CodeNotFound), Detail: "There is no reading of this source, kind and id to retract.",
}

// loadPrevious returns the source's earlier reports by natural key.
func (r *ingestion) loadPrevious(ctx context.Context, source string, rows []*ObservationRow, indexes []int) (map[string]*ObservationRow, error) {
	keys := make([]string, 0, len(indexes))
	for _, i := range indexes {
		keys = append(keys, rows[i].NaturalKey)
	}
	var known []*ObservationRow
	err := r.NewSelect().Model(&known).Where("scope = ?", r.scope).Where("source = ?", source).
		Where("natural_key in (?)", bun.List(keys)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read observations: %w", err)
	}
	previous := make(map[string]*ObservationRow, len(known))
	for _, row := range known {
		previous[row.NaturalKey] = row
	}
	return previous, nil
}

// compareWithPrevious compares an observation with the source's earlier report, and
// stores it as the earlier report for the rest of the batch.
func (r *ingestion) compareWithPrevious(row *ObservationRow, previous map[string]*ObservationRow) string {
	before, known := previous[row.NaturalKey]
	switch {
	case !known:
		previous[row.NaturalKey] = row
		r.changed = append(r.changed, row)
		return ResultCreated
	case !row.supersedes(before) && (!r.wholeStorms || !row.replacesAsFinal(before)):
		return ResultUnchanged
	default:
		r.revised = append(r.revised, before.toRevision())
		row.ID, row.CreatedAt, row.Version = before.ID, before.CreatedAt, before.Version+1
		row.OccurrenceID = before.OccurrenceID
		if row.isRetracted() {
			row.retract(before)
		}
		previous[row.NaturalKey] = row
		r.changed = append(r.changed, row)
		return ResultRevised
	}
}

// toRevision returns the report as a row of the history.
func (r *ObservationRow) toRevision() revisionRow {
	return revisionRow{ObservationID: r.ID, Version: r.Version, Body: r.Body, RecordedAt: r.UpdatedAt}
}

// latestPerObservation keeps the last report of each observation.
func latestPerObservation(rows []*ObservationRow) []*ObservationRow {
	last := make(map[uuid.UUID]*ObservationRow, len(rows))
	for _, row := range rows {
		last[row.ID] = row
	}
	kept := rows[:0]
	for _, row := range rows {
		if last[row.ID] == row {
			kept = append(kept, row)
		}
	}
	return kept
}

func (r *ingestion) saveObservations(ctx context.Context) error {
	rows := slices.Clone(r.changed) // the same order as decisions lock days
	slices.SortFunc(rows, func(a, b *ObservationRow) int { return strings.Compare(a.NaturalKey, b.NaturalKey) })
	_, err := r.NewInsert().Model(&rows).On("conflict (id) do update").
		Set("version = excluded.version").Set("updated_at = excluded.updated_at").
		Set("source_event_id = excluded.source_event_id").Set("occurred_at = excluded.occurred_at").
		Set("stage = excluded.stage").Set("revision = excluded.revision").
		Set("body = excluded.body").Set("digest = excluded.digest").
		Set("occurrence_id = excluded.occurrence_id").Exec(ctx)
	if err != nil {
		return fmt.Errorf("write observations: %w", err)
	}
	if len(r.revised) > 0 {
		if _, err := r.NewInsert().Model(&r.revised).Exec(ctx); err != nil {
			return fmt.Errorf("keep revisions: %w", err)
		}
	}
	return r.saveRecords(ctx)
}

// enqueueEvaluation enqueues the evaluation of the changed occurrences.
func (r *ingestion) enqueueEvaluation(occurrences []uuid.UUID) {
	if len(occurrences) == 0 {
		return
	}
	job := EvaluateOccurrences{}
	for _, id := range occurrences {
		job.Occurrences = append(job.Occurrences, store.ResourceOccurrence.FormatID(id))
	}
	r.EnqueueJob(job)
}
