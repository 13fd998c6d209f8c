package adjudication

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/claims/candidates"
	"parapet/model/claims/matching"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/pacing"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// ErrBarrierPending means that transactions which a second pass waits for are still
// running. Retry after a short delay.
var ErrBarrierPending = errors.New("the second pass must wait: a policy may still be bound unseen")

// inlineSlices is up to how many slices Evaluate decides itself. It decides small events
// at once, and leaves larger ones to DecideSlices.
const inlineSlices = 2

// Evaluate matches occurrences to the policies whose cover they touch: it writes the
// slices of the candidates, and decides those of small events or enqueues DecideSlices. It
// may run any number of times: existing decisions stay. Without After it is a first pass
// and enqueues the second, which finds the policies that were bound during the first.
func (s *Service) Evaluate(ctx context.Context, job occurrence.EvaluateOccurrences) error {
	horizon, err := s.snapshotBarrier(ctx, job.After)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, 0, len(job.Occurrences))
	for _, text := range job.Occurrences {
		id, err := store.ResourceOccurrence.ParseID(text)
		if err != nil {
			return fmt.Errorf("occurrence %q: %w", text, err)
		}
		ids = append(ids, id)
	}
	occurrences, err := occurrence.LoadOccurrences(ctx, s.DB, ids)
	if err != nil {
		return err
	}
	found, err := candidates.Find(ctx, s.DB, occurrences)
	if err != nil {
		return err
	}
	written, except := 0, excludeWaiting
	if job.After != "" {
		except = excludeSliced
	}
	var next *string
	if job.After == "" && horizon != underwriting.NoBinds {
		next = &horizon
	}
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) (err error) {
		if err := matching.EndPasses(ctx, tx, ids, job.After); err != nil {
			return err
		}
		written, err = s.startMatchings(ctx, tx, occurrences, found, except, next)
		if err == nil && job.After == "" {
			err = s.enqueueWaitingClaims(ctx, tx, ids)
		}
		if next != nil {
			tx.EnqueueJob(occurrence.EvaluateOccurrences{Occurrences: job.Occurrences, After: *next})
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return nil
	}
	return decideInline(ctx, ids, written, s.decideNextSlice)
}

// decideInline decides the slices that were just written for small events or, in a
// repeated job that wrote none, one that waits. The job enqueued workers for the slices of
// larger events and ends: if it failed after it wrote them, its repetition would write
// slices of all that is decided meanwhile.
func decideInline(ctx context.Context, occurrences []uuid.UUID, written int, decide func(context.Context, []uuid.UUID) (bool, error)) error {
	if written > inlineSlices {
		return nil
	}
	for range max(written, 1) {
		if found, err := decide(ctx, occurrences); err != nil || !found {
			return err
		}
	}
	return nil
}

// EvaluatePolicies decides some policies for one occurrence again.
type EvaluatePolicies struct {
	Occurrence string   `json:"occurrence,omitempty"`
	Policies   []string `json:"policies"`
}

// Kind is the job's stable name.
func (EvaluatePolicies) Kind() string { return "evaluate_policies" }

// EvaluatePolicies writes slices of the policies and decides them as Evaluate does, but in
// turns of bulk work: many of its jobs are enqueued at once. It does nothing for a merged
// occurrence: the merge enqueued the evaluation of the one that it was merged into.
func (s *Service) EvaluatePolicies(ctx context.Context, job EvaluatePolicies) error {
	id, err := store.ResourceOccurrence.ParseID(job.Occurrence)
	if err != nil {
		return fmt.Errorf("occurrence %q: %w", job.Occurrence, err)
	}
	occurrences, err := occurrence.LoadOccurrences(ctx, s.DB, []uuid.UUID{id})
	if err != nil || len(occurrences) == 0 {
		return err
	}
	var policies []candidates.Candidate
	for _, policy := range store.ResourcePolicy.ParseIDs(job.Policies) {
		policies = append(policies, candidates.Candidate{ID: policy}) // it is not counted
	}
	written := 0
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) (err error) {
		written, err = s.startMatchings(ctx, tx, occurrences, map[uuid.UUID][]candidates.Candidate{id: policies}, excludeNone, nil)
		return err
	})
	if err != nil {
		return err
	}
	err = decideInline(ctx, []uuid.UUID{id}, written, s.decideInTurn)
	if errors.Is(err, pacing.ErrBusy) { // a sweep enqueues workers
		return nil
	}
	return err
}

// snapshotBarrier returns the transactions that were binding policies when the first pass
// began. The second pass returns ErrBarrierPending until all of them have ended.
func (s *Service) snapshotBarrier(ctx context.Context, after string) (string, error) {
	if after == "" {
		return underwriting.ListBinds(ctx, s.DB)
	}
	running, err := underwriting.IsBindRunning(ctx, s.DB, after)
	if err == nil && running {
		err = ErrBarrierPending
	}
	return "", err
}

// lockOccurrence locks one occurrence in the transaction and reads it with its facts. For
// a merged occurrence it returns the one it was merged into.
func lockOccurrence(ctx context.Context, tx *store.Tx, id uuid.UUID) (*occurrence.OccurrenceRow, trigger.Occurrence, error) {
	row := new(occurrence.OccurrenceRow)
	var observations []occurrence.ObservationRow
	err := tx.NewSelect().Model(row).Where("id = ?", id).For("SHARE").Scan(ctx)
	if err == nil && row.MergedInto != nil { // it may have been merged while this waited for the lock
		return lockOccurrence(ctx, tx, *row.MergedInto)
	}
	if err == nil {
		err = tx.NewSelect().Model(&observations).Where("occurrence_id = ?", row.ID).OrderExpr("occurred_at").Scan(ctx)
	}
	if err != nil {
		return nil, trigger.Occurrence{}, fmt.Errorf("read occurrence: %w", err)
	}
	loaded := []occurrence.LoadedOccurrence{{Row: row, Facts: row.ToFacts(observations)}}
	err = occurrence.LoadStationFacts(ctx, tx, loaded)
	return row, loaded[0].Facts, err
}
