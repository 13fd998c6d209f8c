package claims

import (
	"maps"
	"slices"
	"strings"
)

// ReasonCode is the public, machine-readable reason of a decision.
type ReasonCode string

// Reasons of the contract.
const (
	ReasonThresholdMet      ReasonCode = "threshold_met"
	ReasonThresholdNotMet   ReasonCode = "threshold_not_met"
	ReasonOutsidePeriod     ReasonCode = "outside_period"
	ReasonOutsidePlace      ReasonCode = "outside_place"
	ReasonWaitingPeriod     ReasonCode = "waiting_period"
	ReasonLimitExhausted    ReasonCode = "limit_exhausted"
	ReasonDuplicateEvent    ReasonCode = "duplicate_event"
	ReasonSourcePreliminary ReasonCode = "source_preliminary" // never with others: the source's final report decides
	ReasonSourceRetracted   ReasonCode = "source_retracted"   // set by the system, never by an operator
	ReasonEvidenceNeeded    ReasonCode = "evidence_needed"
	ReasonComplianceHold    ReasonCode = "compliance_hold"
	ReasonGoodwill          ReasonCode = "goodwill"
	ReasonOperatorDecision  ReasonCode = "operator_decision"
	ReasonSourcesDisagree   ReasonCode = "sources_disagree"   // no source was selected in time, and an operator determines
	ReasonLongStopReached   ReasonCode = "long_stop_reached"  // no source was selected before the long stop
	ReasonChallengeAccepted ReasonCode = "challenge_accepted" // an operator accepted the partner's challenge
	ReasonChallengeRejected ReasonCode = "challenge_rejected" // of a challenge, never of a decision
	ReasonSourceNotNamed    ReasonCode = "source_not_named"   // of a refused claim: the policy's terms do not name the source
)

// OperatorReasons are the reasons an operator can give, by outcome. The reason for a
// reduced approval at the limit is not among them, because the system determines it.
var OperatorReasons = map[ClaimStatus][]ReasonCode{
	ClaimApproved: {ReasonThresholdMet, ReasonGoodwill, ReasonOperatorDecision},
	ClaimDeferred: {ReasonDuplicateEvent, ReasonSourcePreliminary, ReasonEvidenceNeeded, ReasonComplianceHold, ReasonOperatorDecision},
	ClaimDeclined: {
		ReasonThresholdNotMet, ReasonOutsidePeriod, ReasonOutsidePlace, ReasonWaitingPeriod, ReasonLimitExhausted,
		ReasonDuplicateEvent, ReasonEvidenceNeeded, ReasonComplianceHold, ReasonOperatorDecision,
	},
}

// DecisionOutcomes lists the outcomes an operator can decide.
func DecisionOutcomes() []ClaimStatus { return slices.Sorted(maps.Keys(OperatorReasons)) }

// DistinctReasons returns the reasons in the given order without repeats; without any,
// it returns the operator's decision as the reason.
func DistinctReasons(codes []ReasonCode) []string {
	var reasons []string
	for _, code := range codes {
		if !slices.Contains(reasons, string(code)) {
			reasons = append(reasons, string(code))
		}
	}
	if len(reasons) == 0 {
		return []string{string(ReasonOperatorDecision)}
	}
	return reasons
}

// JoinWords joins the allowed values for a sentence.
func JoinWords[S ~string](words []S) string {
	var text []string
	for _, word := range words {
		text = append(text, string(word))
	}
	return strings.Join(text, ", ")
}
