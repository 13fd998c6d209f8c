package claims

import (
	"fmt"
	"strconv"
	"time"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/underwriting"
)

// ObservedSentence says what the source reported, for the timeline of a claim.
func ObservedSentence(p *underwriting.PolicyRow, facts trigger.Occurrence, d trigger.Determination) string {
	what := facts.Source + " reported " + facts.SourceEventID
	if facts.Source == occurrence.WhatIfSource {
		what = "The supposed event"
	}
	if facts.AtStation != nil && facts.AtStation.Ended && len(facts.AtStation.Days) == 0 {
		return fmt.Sprintf("%s reported nothing of %s: %s.", facts.Source, facts.SourceEventID, missingDays(facts))
	}
	if public := ToDeterminationRecord(p, facts, d); public.Index != nil {
		what += ": " + p.Cover.Trigger.IndexPhrase(*public.Index)
	}
	if d.DistanceKM != nil {
		what += ", " + strconv.FormatFloat(*d.DistanceKM, 'f', 2, 64) + " km from the insured place's centre"
	}
	if d.Reason == trigger.EvidenceNeeded {
		return what + fmt.Sprintf(" so far (%s).", missingDays(facts))
	}
	return what + " (" + string(facts.Stage) + " values)."
}

// OpenedSentence explains why a claim was opened.
func OpenedSentence(facts trigger.Occurrence, d trigger.Determination) string {
	if d.Reason == trigger.EvidenceNeeded {
		if len(facts.AtStation.Days) == 0 {
			return fmt.Sprintf("A claim was opened: the period is over, and %s.", missingDays(facts))
		}
		return fmt.Sprintf("A claim was opened: the rain known so far would pay, but %s.", missingDays(facts))
	}
	return "The claim was opened because the trigger is met."
}

// missingDays describes how many days of a month or dekad have no data.
func missingDays(facts trigger.Occurrence) string {
	o := facts.AtStation
	period := "January 2006"
	if o.Definition.Calendar() != trigger.Month {
		period = "the dekad from 2 January 2006"
	}
	if n := o.Missing(); n != 1 {
		return fmt.Sprintf("%d days of %s are missing", n, o.First.Format(period))
	}
	return "1 day of " + o.First.Format(period) + " is missing"
}

// reasonPhrases describe the reasons for which a claim waits or is declined.
var reasonPhrases = map[ReasonCode]string{
	ReasonThresholdNotMet:   "the trigger is not met",
	ReasonOutsidePeriod:     "it happened outside the period of cover",
	ReasonOutsidePlace:      "it happened outside the insured place",
	ReasonWaitingPeriod:     "it happened in the waiting period",
	ReasonLimitExhausted:    "nothing is left of the policy's limit",
	ReasonDuplicateEvent:    "another claim may be for the same event",
	ReasonSourcePreliminary: "the source's values are not final",
	ReasonSourceRetracted:   "the source retracted its report",
	ReasonEvidenceNeeded:    "evidence is missing",
	ReasonComplianceHold:    "compliance does not allow it",
	ReasonOperatorDecision:  "an operator decided so",
	ReasonSourcesDisagree:   "the sources did not agree in time, and an operator determines",
	ReasonLongStopReached:   "the sources did not report before the long stop",
}

// WaitingSentence says which of several sources a claim waits for, and until when.
func WaitingSentence(missing []string, until time.Time) string {
	at := until.UTC().Format(time.RFC3339)
	if len(missing) == 0 {
		return fmt.Sprintf("The claim waits until %s: the sources do not agree.", at)
	}
	return fmt.Sprintf("The claim waits for the report of %s until %s.", JoinWords(missing), at)
}

// DecisionSentence says how a claim was decided and why.
func DecisionSentence(p *underwriting.PolicyRow, row *ClaimRow, facts trigger.Occurrence) string {
	switch row.Status {
	case ClaimApproved:
		return "The claim was approved: " + money.New(*row.Amount, row.Currency).String() + " is owed."
	case ClaimDeferred:
		if row.ReasonCodes[0] == string(ReasonEvidenceNeeded) && facts.AtStation != nil && facts.AtStation.Missing() > 0 {
			return "The claim waits: " + missingDays(facts) + "."
		}
		return "The claim waits: " + reasonPhrases[ReasonCode(row.ReasonCodes[0])] + "."
	case ClaimDeclined:
		reason := ReasonCode(row.ReasonCodes[len(row.ReasonCodes)-1])
		if reason == ReasonOutsidePlace && p.Cover.IsOtherBasin(facts) {
			return "The claim was declined: " + otherBasinClause(p.Cover.StormBasin(), facts.Storm) + "."
		}
		return "The claim was declined: " + reasonPhrases[reason] + "."
	case ClaimOpened, ClaimWithdrawn, ClaimClosed:
	}
	return "The claim is " + string(row.Status) + "."
}
