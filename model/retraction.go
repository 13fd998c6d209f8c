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

// isHeld tells whether the claim's readings were retracted and no operator decided
// to pay all the same.
func (r *claimRow) isHeld() bool { return r.Retraction != nil && *r.Retraction == RetractionHeld }

// isWaiting tells whether the claim is not decided.
func (r *claimRow) isWaiting() bool { return r.Status == ClaimOpened || r.Status == ClaimDeferred }

// isRetracted tells whether the claim was declined because its readings were
// retracted. It does not hold its occurrence: should the readings come back, they
// are judged anew, as another claim.
func (r *claimRow) isRetracted() bool {
	return r.Status == ClaimDeclined && slices.Equal(r.ReasonCodes, []string{string(ReasonSourceRetracted)})
}

// holdsOccurrence and wasRetracted are true of the claims c of which isRetracted is
// false and true: each has an index of its own, by policy and occurrence.
const (
	holdsOccurrence = "(c.status <> 'declined' or c.reason_codes <> array['source_retracted'])"
	wasRetracted    = "(c.status = 'declined' and c.reason_codes = array['source_retracted'])"
)

// lostByRetraction tells whether the policy would be owed more if nothing had been
// retracted.
func (j *judging) lostByRetraction(p *policyRow, d trigger.Determination) bool {
	switch all := j.occurrence.withRetracted; {
	case j.occurrence.isRetracted():
		return true
	case all == nil:
		return false
	default:
		before := trigger.Evaluate(p.Cover, p.covered(), p.PayableFrom, j.occurrence.withoutPaid(*all, j.paid[p.ID]))
		return before.Met && before.Amount > d.Amount
	}
}

// applyRetraction declines the policy's waiting claims when what met the trigger was
// retracted, and holds what an approved one has not paid yet. Nothing released is
// taken back. done tells that nothing is left to decide.
func (j *judging) applyRetraction(ctx context.Context, p *policyRow, d trigger.Determination) (done bool, err error) {
	lost := j.lostByRetraction(p, d)
	done = lost && d.Amount == 0
	for _, c := range j.others[p.ID] {
		if !j.concerns(c) {
			continue
		}
		switch {
		case done && c.isWaiting():
			err = j.declineRetracted(p, c)
		case c.isApproved() && lost && d.Amount < j.owedFor(p):
			err = j.holdRetracted(ctx, c)
		case c.Retraction != nil:
			err = j.saveRetraction(ctx, c, nil) // the readings are back
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// declineRetracted declines a waiting claim, whatever it waits for. Its determination
// stays the one it was opened by.
func (j *judging) declineRetracted(p *policyRow, row *claimRow) error {
	if err := j.observeRetraction(row); err != nil {
		return err
	}
	defer j.as(System())()
	j.moved = append(j.moved, row)
	decision := adjudicate.Decision{Outcome: adjudicate.Decline, Reasons: []string{string(ReasonSourceRetracted)}}
	return j.rule(p, row, j.restsOn[*row.DeterminationID], decision, nil)
}

// observeRetraction is the sentence of the source.
func (j *judging) observeRetraction(row *claimRow) error {
	defer j.as(Actor{Kind: ActorSource, Name: j.occurrence.Source})()
	return j.tell(row, timelineObserved, nil, fmt.Sprintf("%s retracted what it reported of %s.", j.occurrence.Source, j.occurrence.SourceEventID),
		map[string]any{"occurrence": j.occurrence.brief(*row.OccurredAt), "stage": trigger.Retracted, "source_version": j.occurrence.SourceVersion})
}

// holdRetracted holds every payout of an approved claim that has not gone out. It
// acts once a retraction: what an operator lifts stays lifted.
func (j *judging) holdRetracted(ctx context.Context, row *claimRow) error {
	if row.Retraction != nil {
		return nil
	}
	if err := j.observeRetraction(row); err != nil {
		return err
	}
	defer j.as(System())()
	if err := j.saveRetraction(ctx, row, new(RetractionHeld)); err != nil {
		return err
	}
	payouts, err := j.lockPayingPayouts(ctx, []*claimRow{row})
	if err != nil {
		return err
	}
	for _, payout := range payouts[row.ID] {
		if err := j.holdForCompliance(ctx, row, payout, "The payout is held: the source retracted what the claim was approved on."); err != nil {
			return err
		}
	}
	return nil
}

// saveRetraction writes the state of a locked claim and how far its timeline has
// come. No public member changes.
func (u *unit) saveRetraction(ctx context.Context, row *claimRow, state *RetractionState) error {
	row.Retraction = state
	_, err := u.NewUpdate().Model(row).Column("retraction", "timeline_sequence", "told_at").WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("save retraction: %w", err)
	}
	return nil
}

// retractedClaim is the policy's newest claim for the occurrence that was declined
// because its readings were retracted; nil without.
func (j *judging) retractedClaim(p *policyRow) (newest *claimRow) {
	for _, c := range j.others[p.ID] {
		if j.concerns(c) && c.isRetracted() {
			newest = c
		}
	}
	return newest
}
