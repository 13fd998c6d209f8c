package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parapet/model/hazard"
	"parapet/model/internal/adjudicate"
	"parapet/model/money"
	"parapet/model/trigger"
	"parapet/model/wire"
)

// public is a verdict as partners read it.
func (v *verdict) public() *wire.Explanation {
	p := v.policy
	said := publicDetermination(p, v.facts, v.d)
	e := &wire.Explanation{
		Partner: p.Partner, PolicyID: nounPolicy.id(p.ID), Product: p.Product, OccurredAt: v.d.OccurredAt,
		Met: v.d.Met, Pays: v.payable() > 0, Index: said.Index, Threshold: said.Threshold, Factor: said.Factor,
		Amount: said.Amount, Payable: money.New(v.payable(), p.Currency),
		DistanceKM: said.DistanceKM, RadiusKM: v.d.RadiusKM, Stage: said.Stage,
		Reasons: v.reasons(), Sentences: v.sentences(said),
	}
	e.MissedBy = missedBy(p, v.facts, v.d, said)
	if v.claim != nil {
		e.Claim = new(briefOf(v.claim.ID, v.claim.Status))
	}
	return e
}

// isWindow tells whether the occurrence is a window of days, as rain was judged before
// wet spells and periods of the calendar. Nothing can be said of it any more.
func (v *verdict) isWindow() bool {
	return v.facts.Quake == nil && v.facts.Storm == nil && v.facts.Rain == nil && v.policy.Cover.Trigger.Kind == hazard.StationDay
}

// isIncomplete tells whether days of the month or dekad are missing or still to come.
func (v *verdict) isIncomplete() bool {
	return v.d.Reason == trigger.EvidenceNeeded || v.d.Reason == trigger.SourcePreliminary
}

// retracted tells whether the source withdrew everything it had reported.
func (v *verdict) retracted() bool { return v.facts.Stage == trigger.Retracted }

// reasons are the codes of the claim's decision, or of what would be decided.
func (v *verdict) reasons() []string {
	switch {
	case v.claim != nil && len(v.claim.ReasonCodes) > 0:
		return v.claim.ReasonCodes
	case v.retracted():
		return []string{string(ReasonSourceRetracted)}
	case v.isWindow() || v.isIncomplete():
		return []string{v.incompleteReason()}
	case !v.d.Met && slices.Equal(v.decision.Reasons, []string{adjudicate.ReasonSourceProvisional}):
		return []string{string(v.d.Reason), adjudicate.ReasonSourceProvisional}
	default:
		return v.decision.Reasons
	}
}

func (v *verdict) incompleteReason() string {
	if v.isWindow() {
		return string(ReasonEvidenceNeeded)
	}
	return string(v.d.Reason)
}

// sentences tell what was measured, what that means under the terms, and what is
// paid.
func (v *verdict) sentences(said wire.Determination) []string {
	list := []string{v.measuredSentence(said), v.termsSentence(said)}
	if v.claim != nil {
		return append(list, v.claimSentence())
	}
	return append(list, v.moneySentence())
}

func (v *verdict) measuredSentence(said wire.Determination) string {
	p := v.policy
	switch {
	case v.retracted():
		return fmt.Sprintf("%s retracted what it reported of %s.", v.facts.Source, v.facts.SourceEventID)
	case v.isWindow():
		return fmt.Sprintf("%s reported days to %s, which were judged as one window.", v.facts.Source, v.d.OccurredAt.Format(time.DateOnly))
	case said.Index != nil && p.Cover.Trigger.Kind == hazard.StationDay:
		return v.rainSentence(said)
	default:
		return observedSentence(p, v.facts, v.d)
	}
}

func (v *verdict) termsSentence(said wire.Determination) string {
	p, limit := v.policy, v.policy.Cover.Limit
	switch v.d.Reason {
	case trigger.ThresholdMet:
		return fmt.Sprintf("%s %s %s, which pays a share of %s of the limit of %s: %s.",
			v.metClause(said), said.Threshold.Value, said.Threshold.Unit, said.Factor, limit, said.Amount)
	case trigger.ThresholdNotMet:
		return fmt.Sprintf("The trigger is not met: %s.", reasonClause(p, v.facts, v.d, said))
	case trigger.OutsidePeriod, trigger.WaitingPeriod:
		return sentenceOf(reasonClause(p, v.facts, v.d, said))
	case trigger.EvidenceNeeded:
		return fmt.Sprintf("So the trigger cannot be judged before the missing days are reported: %d.", v.facts.Rain.Missing())
	case trigger.SourcePreliminary:
		return "So the trigger is judged when every day is final."
	case trigger.OutsidePlace:
	}
	return v.placeSentence()
}

// metClause says on which side of the threshold or attachment the index lies.
func (v *verdict) metClause(said wire.Determination) string {
	terms := v.policy.Cover
	isCurve := terms.Payout.Attach != nil
	switch {
	case isCurve && terms.Trigger.Direction == trigger.AtMost:
		return fmt.Sprintf("%s %s is below the attachment of", said.Index.Value, said.Index.Unit)
	case isCurve:
		return fmt.Sprintf("%s %s is above the attachment of", said.Index.Value, said.Index.Unit)
	case terms.Trigger.Direction == trigger.AtMost:
		return fmt.Sprintf("%s %s is not above the threshold of", said.Index.Value, said.Index.Unit)
	default:
		return "It reaches the threshold of"
	}
}

// rainSentence says which days make up the index.
func (v *verdict) rainSentence(said wire.Determination) string {
	first, last := v.d.FirstDay, v.d.LastDay
	if first.IsZero() {
		return fmt.Sprintf("%s measured no days at the station that count: %s.", v.facts.Source, indexPhrase(v.policy, *said.Index))
	}
	return fmt.Sprintf("%s measured %s at the station from %s to %s.", v.facts.Source, indexPhrase(v.policy, *said.Index),
		first.Format(time.DateOnly), last.Format(time.DateOnly))
}

func (v *verdict) placeSentence() string {
	switch {
	case v.retracted():
		return "So no trigger is met by it."
	case v.isWindow():
		return "Only its claim tells what it paid."
	default:
		clause := outsidePlaceClause(v.policy, v.facts, v.d)
		return sentenceOf(clause)
	}
}

func (v *verdict) moneySentence() string {
	remaining := money.New(v.policy.LimitRemaining, v.policy.Currency)
	switch {
	case v.late:
		return fmt.Sprintf("Nothing is paid: claims could be reported until %s.", v.policy.ReportableUntil.Format(time.RFC3339))
	case !v.d.Met || v.d.Amount == 0:
		return "Nothing is paid."
	case v.decision.Outcome == adjudicate.Defer:
		return "Nothing is paid before the source's values are final."
	case v.decision.Amount == 0:
		return "Nothing is paid: nothing is left of the policy's limit."
	case v.decision.Amount < v.d.Amount:
		return fmt.Sprintf("%s is paid: more is not left of the policy's limit, of which %s remains.", money.New(v.decision.Amount, v.policy.Currency), remaining)
	default:
		return fmt.Sprintf("%s is paid.", money.New(v.decision.Amount, v.policy.Currency))
	}
}

func (v *verdict) claimSentence() string {
	id := nounClaim.id(v.claim.ID)
	switch {
	case v.claim.Amount != nil && v.claim.counts():
		return fmt.Sprintf("The claim %s was made of it and is %s: %s is owed.", id, v.claim.Status, money.New(*v.claim.Amount, v.policy.Currency))
	default:
		return fmt.Sprintf("The claim %s was made of it and is %s; nothing is owed.", id, v.claim.Status)
	}
}

// sentenceOf makes a sentence of a clause.
func sentenceOf(clause string) string { return strings.ToUpper(clause[:1]) + clause[1:] + "." }
