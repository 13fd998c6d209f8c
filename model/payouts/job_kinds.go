package payouts

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
type ReleaseBatch struct {
	// Requeued marks a batch for overdue payouts. A queue holds at most one such job; it
	// ignores another.
	Requeued bool `json:"requeued,omitempty"`
}

// Kind is the job's stable name.
func (ReleaseBatch) Kind() string { return "release_batch" }
