package model

import (
	"context"

	"github.com/uptrace/bun"
)

// Job is work the domain asks for. Its fields are its arguments, in JSON, and
// are ids: whoever works it reads what is true by then.
type Job interface {
	// Kind is the job's stable name in the queue.
	Kind() string
}

// JobQueue takes jobs into the transaction that is open on conn, so that a job
// exists if and only if its cause was committed. It refuses when there is none.
type JobQueue interface {
	Insert(ctx context.Context, conn bun.Conn, jobs []Job) error
}

// EvaluateOccurrences matches occurrences to policies. After names the
// transactions that must have ended first: a second pass finds the policies
// that were being bound during the first.
type EvaluateOccurrences struct {
	Occurrences []string `json:"occurrences"`
	After       string   `json:"after,omitempty"`
}

// Kind is the job's stable name.
func (EvaluateOccurrences) Kind() string { return "evaluate_occurrences" }

// VerifyPayoutMethod asks the rail about an account.
type VerifyPayoutMethod struct {
	Partner string `json:"partner"`
	ID      string `json:"id"`
}

// Kind is the job's stable name.
func (VerifyPayoutMethod) Kind() string { return "verify_payout_method" }

// ReevaluatePayouts looks again at what blocks the payouts of a claim.
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
	// HighPriority lets it go before others in the queue: it may have been sent already, or its
	// partner's turn has come.
	HighPriority bool `json:"ahead,omitempty"`
	// Requeued marks a job for a payout that is overdue. A queue holds at most one such
	// job with the same arguments; it ignores another.
	Requeued bool `json:"requeued,omitempty"`
}

// Kind is the job's stable name.
func (ReleasePayout) Kind() string { return "release_payout" }

// ReleaseBatch sends all payouts that are due through a rail that takes slices.
type ReleaseBatch struct{}

// Kind is the job's stable name.
func (ReleaseBatch) Kind() string { return "release_slice" }

// DeleteFiles removes documents whose records were erased, or never came, however
// often that fails: nothing else knows of them any more.
type DeleteFiles struct {
	Keys []string `json:"keys"`
}

// Kind is the job's stable name.
func (DeleteFiles) Kind() string { return "delete_files" }
