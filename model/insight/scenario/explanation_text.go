package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard/trigger"
	"parapet/model/internal/rules"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// toRecord converts an evaluation to its public record.
func (v *Evaluation) toRecord() *wire.Explanation {
	p := v.policy
	determination := claims.ToDeterminationRecord(p, v.facts, v.determination)
	e := &wire.Explanation{
		Partner: p.Partner, PolicyID: store.ResourcePolicy.FormatID(p.ID), Product: p.Product, OccurredAt: v.determination.OccurredAt,
		Met: v.determination.Met, Pays: v.payableAmount() > 0, Index: determination.Index, Threshold: determination.Threshold, Factor: determination.Factor,
		Amount: determination.Amount, Payable: money.New(v.payableAmount(), p.Currency),
		DistanceKM: determination.DistanceKM, RadiusKM: v.determination.RadiusKM, Stage: determination.Stage,
		Reasons: v.reasonCodes(), Sentences: v.buildSentences(determination),
	}
	e.MissedBy = claims.MissedBy(p, v.facts, v.determination, determination)
	if v.claim != nil {
		e.Claim = new(underwriting.ToClaimBrief(v.claim.ID, string(v.claim.Status)))
	}
	return e
}

// isIncomplete reports whether days of the month or dekad are missing or in the future.
func (v *Evaluation) isIncomplete() bool {
	return v.determination.Reason == trigger.EvidenceNeeded || v.determination.Reason == trigger.SourcePreliminary
}

// isRetracted reports whether the source withdrew all its reports.
func (v *Evaluation) isRetracted() bool { return v.facts.Stage == trigger.Retracted }

// reasonCodes returns the reason codes of the claim's decision, or of the decision that
// would be made.
func (v *Evaluation) reasonCodes() []string {
	switch {
	case v.claim != nil && len(v.claim.ReasonCodes) > 0:
		return v.claim.ReasonCodes
	case v.isRetracted():
		return []string{string(claims.ReasonSourceRetracted)}
	case v.isIncomplete():
		return []string{string(v.determination.Reason)}
	case !v.determination.Met && slices.Equal(v.decision.Reasons, []string{rules.ReasonSourcePreliminary}):
		return []string{string(v.determination.Reason), rules.ReasonSourcePreliminary}
	default:
		return v.decision.Reasons
	}
}

// buildSentences explains what was measured, how it compares with the terms, and what is
// paid.
func (v *Evaluation) buildSentences(determination wire.Determination) []string {
	list := []string{v.measuredSentence(determination), v.termsSentence(determination)}
	if v.claim != nil {
		return append(list, v.claimSentence())
	}
	return append(list, v.moneySentence())
}

func (v *Evaluation) measuredSentence(determination wire.Determination) string {
	p := v.policy
	switch {
	case v.isRetracted():
		return fmt.Sprintf("%s retracted its report of %s.", v.facts.Source, v.facts.SourceEventID)
	case determination.Index != nil && p.Cover.Trigger.IsAtStation():
		return v.rainSentence(determination)
	default:
		return claims.ObservedSentence(p, v.facts, v.determination)
	}
}

func (v *Evaluation) termsSentence(determination wire.Determination) string {
	p, limit := v.policy, v.policy.Cover.Limit
	switch v.determination.Reason {
	case trigger.ThresholdMet:
		return fmt.Sprintf("%s %s %s, which pays a share of %s of the limit of %s: %s.",
			v.metClause(determination), determination.Threshold.Value, determination.Threshold.Unit, determination.Factor, limit, determination.Amount)
	case trigger.ThresholdNotMet:
		return fmt.Sprintf("The trigger is not met: %s.", claims.ReasonClause(p, v.facts, v.determination, determination))
	case trigger.OutsidePeriod, trigger.WaitingPeriod:
		return sentenceOf(claims.ReasonClause(p, v.facts, v.determination, determination))
	case trigger.EvidenceNeeded:
		return fmt.Sprintf("The trigger cannot be evaluated until the missing days are reported: %d.", v.facts.AtStation.Missing())
	case trigger.SourcePreliminary:
		return "The trigger is evaluated when every day is final."
	case trigger.SourceNotNamed:
		return sentenceOf(claims.ReasonClause(p, v.facts, v.determination, determination))
	case trigger.OutsidePlace:
	}
	return v.placeSentence()
}

// metClause explains on which side of the threshold or attachment the index lies.
func (v *Evaluation) metClause(determination wire.Determination) string {
	terms := v.policy.Cover
	isCurve := terms.Payout.Attach != nil
	switch {
	case isCurve && terms.Trigger.Direction == trigger.AtMost:
		return fmt.Sprintf("%s %s is below the attachment of", determination.Index.Value, determination.Index.Unit)
	case isCurve:
		return fmt.Sprintf("%s %s is above the attachment of", determination.Index.Value, determination.Index.Unit)
	case terms.Trigger.Direction == trigger.AtMost:
		return fmt.Sprintf("%s %s is not above the threshold of", determination.Index.Value, determination.Index.Unit)
	default:
		return "It reaches the threshold of"
	}
}

// rainSentence explains which days make up the index.
func (v *Evaluation) rainSentence(determination wire.Determination) string {
	first, last := v.determination.FirstDay, v.determination.LastDay
	if first.IsZero() {
		return fmt.Sprintf("%s measured no days at the station that count: %s.", v.facts.Source, v.policy.Cover.Trigger.IndexPhrase(*determination.Index))
	}
	return fmt.Sprintf("%s measured %s at the station from %s to %s.", v.facts.Source, v.policy.Cover.Trigger.IndexPhrase(*determination.Index),
		first.Format(time.DateOnly), last.Format(time.DateOnly))
}

func (v *Evaluation) placeSentence() string {
	if v.isRetracted() {
		return "A retracted report meets no trigger."
	}
	return sentenceOf(claims.OutsidePlaceClause(v.policy, v.facts, v.determination))
}

func (v *Evaluation) moneySentence() string {
	remaining := money.New(v.policy.LimitRemaining, v.policy.Currency)
	switch {
	case v.isTooLate:
		return fmt.Sprintf("Nothing is paid: claims could be reported until %s.", v.policy.ReportableUntil.Format(time.RFC3339))
	case !v.determination.Met || v.determination.Amount == 0:
		return "Nothing is paid."
	case v.decision.Outcome == rules.Defer:
		return "Nothing is paid before the source's values are final."
	case v.decision.Amount == 0:
		return "Nothing is paid: nothing is left of the policy's limit."
	case v.decision.Amount < v.determination.Amount:
		return fmt.Sprintf("%s is paid, because only %s of the policy's limit remains.", money.New(v.decision.Amount, v.policy.Currency), remaining)
	default:
		return fmt.Sprintf("%s is paid.", money.New(v.decision.Amount, v.policy.Currency))
	}
}

func (v *Evaluation) claimSentence() string {
	id := store.ResourceClaim.FormatID(v.claim.ID)
	switch {
	case v.claim.Amount != nil && adjudication.IsActive(v.claim):
		return fmt.Sprintf("The claim %s was opened for this occurrence and is %s: %s is owed.", id, v.claim.Status, money.New(*v.claim.Amount, v.policy.Currency))
	default:
		return fmt.Sprintf("The claim %s was opened for this occurrence and is %s; nothing is owed.", id, v.claim.Status)
	}
}

// sentenceOf makes a sentence of a clause.
func sentenceOf(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }
