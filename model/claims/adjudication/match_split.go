package adjudication

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/google/uuid"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// EvaluatePolicies decides some policies for one occurrence: a part of a failed batch. A
// part that fails is split again. A policy that cannot be decided ends up in a job of its
// own, which is retried and delays no other policy.
type EvaluatePolicies struct {
	Occurrence string   `json:"occurrence,omitempty"`
	Policies   []string `json:"policies"`
}

// Kind is the job's stable name.
func (EvaluatePolicies) Kind() string { return "evaluate_policies" }

// EvaluatePolicies runs the job. It fails when its only policy fails, and may run any
// number of times.
func (s *Service) EvaluatePolicies(ctx context.Context, job EvaluatePolicies) error {
	ids := store.ResourcePolicy.ParseIDs(job.Policies)
	err := recoverPanic(func() error { return s.evaluateForOccurrence(ctx, job.Occurrence, ids) })
	if err != nil && len(ids) == 1 {
		return fmt.Errorf("policy %s: %w", job.Policies[0], err)
	}
	return s.splitOnFailure(ctx, job, ids, err)
}

// evaluateForOccurrence decides policies for an occurrence. If the occurrence has been
// merged, it decides them for the one it was merged into.
func (s *Service) evaluateForOccurrence(ctx context.Context, occurrenceID string, policies []uuid.UUID) error {
	id, err := store.ResourceOccurrence.ParseID(occurrenceID)
	if err != nil {
		return fmt.Errorf("occurrence %q: %w", occurrenceID, err)
	}
	occurrences, err := occurrence.LoadOccurrences(ctx, s.DB, []uuid.UUID{id})
	if err != nil || len(occurrences) == 0 {
		return err
	}
	return s.evaluateBatch(ctx, occurrences[0].Row, occurrences[0].Facts, policies)
}

// splitOnFailure enqueues one job for each half of a failed batch; a single policy gets
// one job. An error that no policy causes, such as an unavailable database, is returned
// as the error of the current job.
func (s *Service) splitOnFailure(ctx context.Context, job EvaluatePolicies, policies []uuid.UUID, err error) error {
	if err == nil || len(policies) == 0 || ctx.Err() != nil || apperr.CodeOf(err) == apperr.CodeUnavailable && !store.IsRetryable(err) {
		return err
	}
	return s.InTx(ctx, actor.System(), func(_ context.Context, tx *store.Tx) error {
		half := len(policies) / 2
		for _, part := range [][]uuid.UUID{policies[:half], policies[half:]} {
			if len(part) == 0 {
				continue
			}
			job.Policies = make([]string, len(part))
			for i, id := range part {
				job.Policies[i] = store.ResourcePolicy.FormatID(id)
			}
			tx.EnqueueJob(job)
		}
		return nil
	})
}

// recoverPanic converts a panic into an error, so that a rule that panics for one policy
// fails like any other error of that policy.
func recoverPanic(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return do()
}
