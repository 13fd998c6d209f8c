package model

import (
	"maps"
	"slices"
	"strings"
)

// ReasonCode is a public reason of a decision: why, for machines.
type ReasonCode string

// The contract's reasons.
const (
	ReasonThresholdMet      ReasonCode = "threshold_met"
	ReasonThresholdNotMet   ReasonCode = "threshold_not_met"
	ReasonOutsidePeriod     ReasonCode = "outside_period"
	ReasonOutsidePlace      ReasonCode = "outside_place"
	ReasonWaitingPeriod     ReasonCode = "waiting_period"
	ReasonLimitExhausted    ReasonCode = "limit_exhausted"
	ReasonDuplicateEvent    ReasonCode = "duplicate_event"
	ReasonSourcePreliminary ReasonCode = "source_preliminary" // alone: the source's final word decides
	ReasonSourceRetracted   ReasonCode = "source_retracted"   // found out, never given by an operator
	ReasonEvidenceNeeded    ReasonCode = "evidence_needed"
	ReasonComplianceHold    ReasonCode = "compliance_hold"
	ReasonGoodwill          ReasonCode = "goodwill"
	ReasonOperatorDecision  ReasonCode = "operator_decision"
)

// operatorReasons are the reasons an operator can give, by outcome. That the limit cut an
// approval down is found out, not said.
var operatorReasons = map[ClaimStatus][]ReasonCode{
	ClaimApproved: {ReasonThresholdMet, ReasonGoodwill, ReasonOperatorDecision},
	ClaimDeferred: {ReasonDuplicateEvent, ReasonSourcePreliminary, ReasonEvidenceNeeded, ReasonComplianceHold, ReasonOperatorDecision},
	ClaimDeclined: {
		ReasonThresholdNotMet, ReasonOutsidePeriod, ReasonOutsidePlace, ReasonWaitingPeriod, ReasonLimitExhausted,
		ReasonDuplicateEvent, ReasonEvidenceNeeded, ReasonComplianceHold, ReasonOperatorDecision,
	},
}

// DecisionOutcomes are what an operator can decide.
func DecisionOutcomes() []ClaimStatus { return slices.Sorted(maps.Keys(operatorReasons)) }

// distinctReasons are the reasons in the order they were given, without repeats;
// without any it was the operator's decision.
func distinctReasons(codes []ReasonCode) []string {
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

// joinWords names what may be said, for a sentence.
func joinWords[S ~string](words []S) string {
	var text []string
	for _, word := range words {
		text = append(text, string(word))
	}
	return strings.Join(text, ", ")
}
