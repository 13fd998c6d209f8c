// Package adjudicate holds the private rules by which claims are decided. Only
// model can import it: partners see outcomes and public reason codes, never how
// they were weighed.
package adjudicate

import "slices"

// Outcome is what was decided.
type Outcome string

const (
	// Approve: the amount is owed.
	Approve Outcome = "approved"
	// Defer: more is needed before a decision.
	Defer Outcome = "deferred"
	// Decline: nothing is owed.
	Decline Outcome = "declined"
)

// The public reason codes this package gives.
const (
	ReasonThresholdMet      = "threshold_met"
	ReasonLimitExhausted    = "limit_exhausted"
	ReasonDuplicateEvent    = "duplicate_event"
	ReasonSourcePreliminary = "source_preliminary"
	ReasonEvidenceNeeded    = "evidence_needed"
)

// Facts are everything a trigger claim is decided on.
type Facts struct {
	Met       bool   // the trigger is met with an amount above zero
	Reason    string // why not, when it is not met
	Amount    int64  // by the terms, minor units
	Remaining int64  // of the policy's limit, minor units
	Settled   bool   // the measurement's stage is the one the product decides on
	// Incomplete: days are missing without which nobody can say whether it is met.
	Incomplete        bool
	Ongoing           bool // a storm that has not passed: what is not met may be yet
	SameOccurrence    bool // another claim holds the very same occurrence
	PossibleDuplicate bool // another source's report of what may be the same event is claimed already
}

// Decision is the outcome with its public reasons and what is reserved.
type Decision struct {
	Outcome Outcome
	Reasons []string
	Amount  int64 // minor units, at most what remains of the limit
}

// Decide applies the rules in order: an occurrence is claimed once; what lacks days
// waits for them; what is not
// settled waits; what is not met is declined, once it can no longer be met; what
// may be a second report of one event waits for a human; and the rest is owed up
// to what remains of the limit.
func Decide(f Facts) Decision {
	switch {
	case f.SameOccurrence:
		return Decision{Outcome: Decline, Reasons: []string{ReasonDuplicateEvent}}
	case f.Incomplete:
		return Decision{Outcome: Defer, Reasons: []string{ReasonEvidenceNeeded}}
	case !f.Settled, !f.Met && f.Ongoing:
		return Decision{Outcome: Defer, Reasons: []string{ReasonSourcePreliminary}}
	case !f.Met:
		return Decision{Outcome: Decline, Reasons: []string{f.Reason}}
	case f.PossibleDuplicate:
		return Decision{Outcome: Defer, Reasons: []string{ReasonDuplicateEvent}}
	case f.Remaining == 0:
		return Decision{Outcome: Decline, Reasons: []string{ReasonThresholdMet, ReasonLimitExhausted}}
	case f.Amount > f.Remaining:
		return Decision{Outcome: Approve, Reasons: []string{ReasonThresholdMet, ReasonLimitExhausted}, Amount: f.Remaining}
	default:
		return Decision{Outcome: Approve, Reasons: []string{ReasonThresholdMet}, Amount: f.Amount}
	}
}

// ApproveByOperator is an operator's approval: what is owed up to what remains of the limit,
// for the reasons given.
func ApproveByOperator(owed, remaining int64, reasons []string) Decision {
	if owed > remaining {
		return Decision{Outcome: Approve, Reasons: append(slices.Clone(reasons), ReasonLimitExhausted), Amount: remaining}
	}
	return Decision{Outcome: Approve, Reasons: reasons, Amount: owed}
}
