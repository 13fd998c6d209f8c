package model

import (
	"context"
	"fmt"

	"parapet/model/internal/adjudicate"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/trigger"
)

// holdsOccurrenceSQL and wasRetractedSQL select the claims c with isRetracted false and
// true. Each has its own index, by policy and occurrence.
const (
	holdsOccurrenceSQL = "(c.status <> 'declined' or c.reason_codes <> array['source_retracted'])"
	wasRetractedSQL    = "(c.status = 'declined' and c.reason_codes = array['source_retracted'])"
)

// losesByRetraction reports whether the policy would be owed more without the
// retraction.
func (adj *adjudication) losesByRetraction(p *policyRow, d trigger.Determination) bool {
	switch all := adj.occurrence.factsWithRetracted; {
	case adj.occurrence.isRetracted():
		return true
	case all == nil:
		return false
	default:
		before := trigger.Evaluate(p.Cover, p.coverPeriod(), p.PayableFrom, adj.occurrence.withoutPaidDays(*all, adj.paidDays[p.ID]))
		return before.Met && before.Amount > d.Amount
	}
}

// applyRetraction declines the policy's waiting claims when the observations that met
// the trigger were retracted, and blocks the unreleased payouts of approved ones. It
// reverses no released payout. done reports whether nothing is left to decide.
func (adj *adjudication) applyRetraction(ctx context.Context, p *policyRow, d trigger.Determination) (done bool, err error) {
	lost := adj.losesByRetraction(p, d)
	done = lost && d.Amount == 0
	for _, c := range adj.relatedClaims[p.ID] {
		if !adj.isFor(c) {
			continue
		}
		switch {
		case done && c.isUndecided():
			err = adj.declineRetractedClaim(p, c)
		case c.isApproved() && lost && d.Amount < adj.owedFor(p):
			err = adj.holdUnreleasedPayouts(ctx, c)
		case c.Retraction != nil:
			err = saveRetraction(ctx, adj.Tx, c, nil) // the observations are back
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// declineRetractedClaim declines a waiting claim, whatever it waits for. The claim
// keeps the determination that opened it.
func (adj *adjudication) declineRetractedClaim(p *policyRow, row *claimRow) error {
	if err := adj.appendRetractionObserved(row); err != nil {
		return err
	}
	defer adj.WithActor(actor.System())()
	adj.changedClaims = append(adj.changedClaims, row)
	decision := adjudicate.Decision{Outcome: adjudicate.Decline, Reasons: []string{string(ReasonSourceRetracted)}}
	return adj.applyDecision(p, row, adj.claimDeterminations[*row.DeterminationID], decision, nil)
}

// appendRetractionObserved adds the source's retraction to the timeline.
func (adj *adjudication) appendRetractionObserved(row *claimRow) error {
	defer adj.WithActor(actor.Actor{Kind: actor.KindSource, Name: adj.occurrence.Source})()
	return appendTimeline(adj.Tx, row, event.TimelineObserved, nil, fmt.Sprintf("%s retracted its report of %s.", adj.occurrence.Source, adj.occurrence.SourceEventID),
		map[string]any{"occurrence": adj.occurrence.toBrief(*row.OccurredAt), "stage": trigger.Retracted, "source_version": adj.occurrence.SourceVersion})
}

// holdUnreleasedPayouts blocks every unreleased payout of an approved claim. It acts
// once per retraction, so that a payout released by an operator stays released.
func (adj *adjudication) holdUnreleasedPayouts(ctx context.Context, row *claimRow) error {
	if row.Retraction != nil {
		return nil
	}
	if err := adj.appendRetractionObserved(row); err != nil {
		return err
	}
	defer adj.WithActor(actor.System())()
	if err := saveRetraction(ctx, adj.Tx, row, new(RetractionHeld)); err != nil {
		return err
	}
	payouts, err := lockPayingPayouts(ctx, adj.Tx, []*claimRow{row})
	if err != nil {
		return err
	}
	for _, payout := range payouts[row.ID] {
		if err := holdForCompliance(ctx, adj.Tx, row, payout, "The payout is held: the source retracted the values that approved the claim."); err != nil {
			return err
		}
	}
	return nil
}

// newestRetractedClaim returns the policy's newest claim for the occurrence that was
// declined because its observations were retracted; nil if there is none.
func (adj *adjudication) newestRetractedClaim(p *policyRow) (newest *claimRow) {
	for _, c := range adj.relatedClaims[p.ID] {
		if adj.isFor(c) && c.isRetracted() {
			newest = c
		}
	}
	return newest
}
