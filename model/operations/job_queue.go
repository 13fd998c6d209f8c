package operations

import (
	"context"
	"fmt"
	"time"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
)

// JobQueue is a queue of jobs.
type JobQueue struct {
	Name     string
	PausedAt *time.Time // nil while its jobs run
}

// QueueChange pauses or resumes a queue.
type QueueChange struct {
	Queue  string
	Paused bool
	Reason string // operators only
}

// JobQueues lists the queues. Operators only.
func (s *Service) JobQueues(ctx context.Context, caller actor.Actor) ([]JobQueue, error) {
	admin, err := s.requireJobAdmin(ctx, caller)
	if err != nil {
		return nil, err
	}
	queues, err := admin.Queues(ctx)
	return queues, store.TranslateError(err)
}

// ChangeQueue pauses or resumes a queue. Jobs that run end; jobs that wait stay. Operators
// only. Errors: not_found, validation_failed.
func (s *Service) ChangeQueue(ctx context.Context, caller actor.Actor, in QueueChange) (*JobQueue, error) {
	admin, err := s.requireJobAdmin(ctx, caller)
	if err != nil {
		return nil, err
	}
	v := apperr.NewValidator(ctx)
	audit.RequireNote(v, &in.Reason, "/reason")
	v.Require(audit.IsStorableText(in.Queue), "/queue", "format", "Use the name of a queue.")
	if err := v.Err(); err != nil {
		return nil, err
	}
	queue := &JobQueue{Name: in.Queue}
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		found, err := admin.SetPaused(ctx, tx.Conn, in.Queue, in.Paused)
		switch {
		case err != nil:
			return fmt.Errorf("change queue: %w", err)
		case !found:
			return apperr.Fail(apperr.CodeNotFound, "There is no queue with this name; use one of jobQueues.")
		case in.Paused:
			queue.PausedAt = &tx.Now
		}
		reason := in.Reason + " (queue " + in.Queue + ")"
		tx.Describe("", "", &reason)
		return tx.StoreResponse(store.StatusOK, "", queue)
	})
	return queue, err
}

// explanations says what the jobs of each kind do, and what waits while they fail.
var explanations = map[string]string{
	"evaluate_occurrences": "Matches occurrences to policies. While it fails, no claims are opened for them; the facts are stored and nothing is lost.",
	"evaluate_policies":    "Decides policies of an occurrence again. While it fails, their claims keep the earlier decision.",
	"decide_slices":        "Decides a part of the policies of a large occurrence. A part that fails is halved and tried again.",
	"verify_payout_method": "Asks the rail about an account. While it fails, payouts to the account wait.",
	"reevaluate_payouts":   "Selects another account for payouts that the rail refused or did not get. While it fails, they stay blocked.",
	"release_payout":       "Sends a payout to the rail. While it fails, the payout waits or its outcome is unknown; it is never sent twice.",
	"release_batch":        "Sends all due payouts to the rail together. While it fails, the sweep sends them one by one.",
	"write_files":          "Writes the bank's payment files. While it fails, the orders wait for the next file.",
	"delete_files":         "Deletes documents that no record refers to. While it fails, they take space.",
	"poll_feed":            "Reads a hazard feed. While it fails, new events of the source are not known.",
	"deliver_endpoint":     "Delivers the events of a webhook endpoint. While it fails, the partner can read them in the feed.",
	"fetch_reports":        "Fetches the rail's reports. While it fails, released payouts are not reconciled.",
	"check_invariants":     "Checks the rules that always hold. While it fails, a violation is not found.",
	"rescue_jobs":          "Starts the jobs of processes that died again. While it fails, these jobs wait for an hour.",
	"sweep":                "Moves due work: expiries, reviews, retries and lost jobs. While it fails, due work waits.",
}

// Explanation says what the jobs do and what waits while they fail.
func (f *FailingJobs) Explanation() string { return explanations[f.Kind] }
