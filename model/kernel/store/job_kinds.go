package store

import (
	"context"

	"github.com/uptrace/bun"
)

// Job is work that the domain enqueues. Its fields are its arguments, in JSON. They are
// ids, so that the worker reads the current data.
type Job interface {
	// Kind is the job's stable name in the queue.
	Kind() string
}

// JobQueue inserts jobs in the transaction that is open on conn, so that a job exists if
// and only if its cause was committed. It returns an error when no transaction is open.
type JobQueue interface {
	Insert(ctx context.Context, conn bun.Conn, jobs []Job) error
}

// EvaluateOccurrences matches occurrences to policies. After names the transactions that
// must have ended first: a second pass finds the policies that were being bound during
// the first.
type EvaluateOccurrences struct {
	Occurrences []string `json:"occurrences"`
	After       string   `json:"after,omitempty"`
}

// Kind is the job's stable name.
func (EvaluateOccurrences) Kind() string { return "evaluate_occurrences" }

// VerifyPayoutMethod verifies an account with the rail.
type VerifyPayoutMethod struct {
	Partner string `json:"partner"`
	ID      string `json:"id"`
}

// Kind is the job's stable name.
func (VerifyPayoutMethod) Kind() string { return "verify_payout_method" }

// ReevaluatePayouts checks again what blocks the payouts of a claim.
type ReevaluatePayouts struct {
	Partner string `json:"partner"`
	Claim   string `json:"claim"`
}

// Kind is the job's stable name.
func (ReevaluatePayouts) Kind() string { return "reevaluate_payouts" }

// ReleasePayout sends a payout through a rail.
type ReleasePayout struct {
	Partner string `json:"partner"`
	ID      string `json:"id"`
	// HighPriority puts the job before others in the queue: the payout may have been sent
	// already, or its partner is next.
	HighPriority bool `json:"ahead,omitempty"`
	// Requeued marks a job for a payout that is overdue. A queue holds at most one such
	// job with the same arguments; it ignores another.
	Requeued bool `json:"requeued,omitempty"`
}

// Kind is the job's stable name.
func (ReleasePayout) Kind() string { return "release_payout" }

// ReleaseBatch sends all due payouts through a rail that accepts batches.
type ReleaseBatch struct{}

// Kind is the job's stable name.
func (ReleaseBatch) Kind() string { return "release_batch" }

// DeleteFiles deletes documents whose records were erased or never written. The job is
// retried until it succeeds, because nothing else refers to these files.
type DeleteFiles struct {
	Keys []string `json:"keys"`
}

// Kind is the job's stable name.
func (DeleteFiles) Kind() string { return "delete_files" }

// SweepWork is the job that runs one turn of one kind of due work.
type SweepWork struct {
	Work DueWork `json:"work"`
}

// DueWork is a kind of work that becomes due by time. Each kind is swept separately, so
// that none waits for another.
type DueWork string

// WorkStoppedPayouts is the work of a resumption of releases after its check.
const WorkStoppedPayouts DueWork = "stopped_payouts"

// Kind returns the job's stable name in the queue.
func (SweepWork) Kind() string { return "sweep" }
