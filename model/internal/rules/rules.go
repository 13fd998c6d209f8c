package rules

import "slices"

// Outcome is the outcome of a decision.
type Outcome string

const (
	// Approve: the amount is owed.
	Approve Outcome = "approved"
	// Defer: the decision needs more data.
	Defer Outcome = "deferred"
	// Decline: nothing is owed.
	Decline Outcome = "declined"
)

// Public reason codes that this package returns.
const (
	ReasonThresholdMet      = "threshold_met"
	ReasonLimitExhausted    = "limit_exhausted"
	ReasonDuplicateEvent    = "duplicate_event"
	ReasonSourcePreliminary = "source_preliminary"
	ReasonEvidenceNeeded    = "evidence_needed"
)

// Facts are all inputs of the decision on a trigger claim.
type Facts struct {
	Met       bool   // the trigger is met with an amount above zero
	Reason    string // why not, if it is not met
	Amount    int64  // amount by the terms, minor units
	Remaining int64  // remaining limit of the policy, minor units
	Settled   bool   // the source's data has the stage that the product requires for a decision
	// Incomplete: days are missing that are needed to decide whether the trigger is
	// met.
	Incomplete        bool
	Ongoing           bool // an occurrence that may grow, such as a storm: a trigger that is not met may still be
	SameOccurrence    bool // another claim covers the same occurrence
	PossibleDuplicate bool // a claim exists for another source's report of what may be the same event
}

// Decision is the outcome with its public reasons and the reserved amount.
type Decision struct {
	Outcome Outcome
	Reasons []string
	Amount  int64 // minor units, at most the remaining limit
}

// Decide applies the rules in order: (1) an occurrence is claimed once; (2) a claim
// with missing days waits for them; (3) a claim with unsettled data waits; (4) a claim
// whose trigger is not met is declined once it can no longer be met; (5) a possible
// second report of one event waits for an operator; (6) the rest is owed up to the
// remaining limit.
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

// ApproveByOperator returns an operator's approval: the owed amount up to the remaining
// limit, for the given reasons.
func ApproveByOperator(owed, remaining int64, reasons []string) Decision {
	if owed > remaining {
		return Decision{Outcome: Approve, Reasons: append(slices.Clone(reasons), ReasonLimitExhausted), Amount: remaining}
	}
	return Decision{Outcome: Approve, Reasons: reasons, Amount: owed}
}
