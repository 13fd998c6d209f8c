package model

import (
	"context"
	"fmt"
	"slices"

	"parapet/model/internal/adjudicate"
	"parapet/model/trigger"
)

// RetractionState is what a retraction did to an approved claim.
type RetractionState string

// The states. A claim without one rests on readings that stand.
const (
	// RetractionHeld keeps what has not gone out as compliance_hold.
	RetractionHeld RetractionState = "held"
	// RetractionLifted means that an operator lets it go out all the same.
	RetractionLifted RetractionState = "lifted"
)

// isHeldByRetraction tells whether the claim's readings were retracted and no operator decided
// to pay all the same.
func (r *claimRow) isHeldByRetraction() bool {
	return r.Retraction != nil && *r.Retraction == RetractionHeld
}

// isUndecided tells whether the claim is not decided.
func (r *claimRow) isUndecided() bool { return r.Status == ClaimOpened || r.Status == ClaimDeferred }

// isRetracted tells whether the claim was declined because its readings were
// retracted. It does not hold its occurrence: should the readings come back, they
// are judged anew, as another claim.
func (r *claimRow) isRetracted() bool {
	return r.Status == ClaimDeclined && slices.Equal(r.ReasonCodes, []string{string(ReasonSourceRetracted)})
}

// holdsOccurrenceSQL and wasRetractedSQL are true of the claims c of which isRetracted is
// false and true: each has an index of its own, by policy and occurrence.
const (
	holdsOccurrenceSQL = "(c.status <> 'declined' or c.reason_codes <> array['source_retracted'])"
	wasRetractedSQL    = "(c.status = 'declined' and c.reason_codes = array['source_retracted'])"
)

// losesByRetraction tells whether the policy would be owed more if nothing had been
// retracted.
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

// applyRetraction declines the policy's waiting claims when what met the trigger was
// retracted, and holds what an approved one has not paid yet. Nothing released is
// taken back. done tells that nothing is left to decide.
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
			err = adj.saveRetraction(ctx, c, nil) // the readings are back
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// declineRetractedClaim declines a waiting claim, whatever it waits for. Its determination
// stays the one it was opened by.
func (adj *adjudication) declineRetractedClaim(p *policyRow, row *claimRow) error {
	if err := adj.appendRetractionObserved(row); err != nil {
		return err
	}
	defer adj.withActor(System())()
	adj.changedClaims = append(adj.changedClaims, row)
	decision := adjudicate.Decision{Outcome: adjudicate.Decline, Reasons: []string{string(ReasonSourceRetracted)}}
	return adj.applyDecision(p, row, adj.claimDeterminations[*row.DeterminationID], decision, nil)
}

// appendRetractionObserved is the sentence of the source.
func (adj *adjudication) appendRetractionObserved(row *claimRow) error {
	defer adj.withActor(Actor{Kind: ActorSource, Name: adj.occurrence.Source})()
	return adj.appendTimeline(row, timelineObserved, nil, fmt.Sprintf("%s retracted what it reported of %s.", adj.occurrence.Source, adj.occurrence.SourceEventID),
		map[string]any{"occurrence": adj.occurrence.toBrief(*row.OccurredAt), "stage": trigger.Retracted, "source_version": adj.occurrence.SourceVersion})
}

// holdUnreleasedPayouts holds every payout of an approved claim that has not gone out. It
// acts once a retraction: what an operator lifts stays lifted.
func (adj *adjudication) holdUnreleasedPayouts(ctx context.Context, row *claimRow) error {
	if row.Retraction != nil {
		return nil
	}
	if err := adj.appendRetractionObserved(row); err != nil {
		return err
	}
	defer adj.withActor(System())()
	if err := adj.saveRetraction(ctx, row, new(RetractionHeld)); err != nil {
		return err
	}
	payouts, err := adj.lockPayingPayouts(ctx, []*claimRow{row})
	if err != nil {
		return err
	}
	for _, payout := range payouts[row.ID] {
		if err := adj.holdForCompliance(ctx, row, payout, "The payout is held: the source retracted what the claim was approved on."); err != nil {
			return err
		}
	}
	return nil
}

// saveRetraction writes the state of a locked claim and how far its timeline has
// come. No public member changes.
func (tx *Tx) saveRetraction(ctx context.Context, row *claimRow, state *RetractionState) error {
	row.Retraction = state
	_, err := tx.NewUpdate().Model(row).Column("retraction", "timeline_sequence", "told_at").WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("save retraction: %w", err)
	}
	return nil
}

// newestRetractedClaim is the policy's newest claim for the occurrence that was declined
// because its readings were retracted; nil without.
func (adj *adjudication) newestRetractedClaim(p *policyRow) (newest *claimRow) {
	for _, c := range adj.relatedClaims[p.ID] {
		if adj.isFor(c) && c.isRetracted() {
			newest = c
		}
	}
	return newest
}
