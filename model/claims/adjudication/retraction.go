package adjudication

import (
	"context"

	"parapet/model/claims"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/internal/rules"
	"parapet/model/kernel/actor"
	"parapet/model/payouts"
	"parapet/model/underwriting"
)

// holdsOccurrenceSQL and wasRetractedSQL select the claims c with isRetracted false and
// true. Each has its own index, by policy and occurrence.
const (
	holdsOccurrenceSQL = "(c.status <> 'declined' or c.reason_codes <> array['source_retracted'])"
	wasRetractedSQL    = "(c.status = 'declined' and c.reason_codes = array['source_retracted'])"
)

// lostReport returns the occurrence without whose retraction the policy would be owed
// more; nil if there is none.
func (adj *adjudication) lostReport(p *underwriting.PolicyRow, d trigger.Determination) *occurrence.OccurrenceRow {
	reported := adj.reportedOccurrence()
	switch all := reported.FactsWithRetracted; {
	case adj.lost[p.ID] != nil:
		return adj.lost[p.ID]
	case reported.IsRetracted():
		return reported
	case all == nil:
		return nil
	default:
		before := trigger.EvaluateReportOfAnyBasin(p.Cover, p.CoverPeriod(), p.PayableFrom, claims.WithoutPaidDays(adj.occurrence, *all, adj.paidDays[p.ID]))
		if before.Met && before.Amount > d.Amount {
			return reported
		}
		return nil
	}
}

// applyRetraction declines the policy's waiting claims when the observations that met
// the trigger were retracted, and blocks the unreleased payouts of approved ones. It
// reverses no released payout. done reports whether nothing is left to decide.
func (adj *adjudication) applyRetraction(ctx context.Context, p *underwriting.PolicyRow, d trigger.Determination) (done bool, err error) {
	lost, left := adj.lostReport(p, d), d.Amount
	if adj.lost[p.ID] != nil && !adj.isSettled(p, d) {
		left = 0 // no other source is selected
	}
	done = lost != nil && d.Amount == 0
	for _, c := range adj.relatedClaims[p.ID] {
		if !adj.isFor(c) {
			continue
		}
		switch {
		case done && c.IsUndecided():
			err = adj.declineRetractedClaim(p, c, lost)
		case isApproved(c) && lost != nil && left < adj.owedFor(p):
			err = adj.holdUnreleasedPayouts(ctx, c, lost, left)
		case c.Retraction != nil:
			err = claims.SaveRetraction(ctx, adj.Tx, c, nil) // the observations are back
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// declineRetractedClaim declines a waiting claim, whatever it waits for. The claim
// keeps the determination that opened it.
func (adj *adjudication) declineRetractedClaim(p *underwriting.PolicyRow, row *claims.ClaimRow, lost *occurrence.OccurrenceRow) error {
	if err := claims.AppendRetraction(adj.Tx, row, lost, nil); err != nil {
		return err
	}
	defer adj.WithActor(actor.System())()
	adj.changedClaims = append(adj.changedClaims, row)
	decision := rules.Decision{Outcome: rules.Decline, Reasons: []string{string(claims.ReasonSourceRetracted)}}
	return adj.applyDecision(p, row, adj.claimDeterminations[*row.DeterminationID], decision, nil)
}

// holdUnreleasedPayouts blocks every unreleased payout of an approved claim. It acts
// again only when less is left than at the retraction before, so that a payout released by
// an operator stays released.
func (adj *adjudication) holdUnreleasedPayouts(ctx context.Context, row *claims.ClaimRow, lost *occurrence.OccurrenceRow, left int64) error {
	if row.Retraction != nil && left >= adj.retractedAmounts[row.ID] {
		return nil
	}
	if err := claims.AppendRetraction(adj.Tx, row, lost, &left); err != nil {
		return err
	}
	defer adj.WithActor(actor.System())()
	if err := claims.SaveRetraction(ctx, adj.Tx, row, new(claims.RetractionHeld)); err != nil {
		return err
	}
	paying, err := payouts.LockPayingPayouts(ctx, adj.Tx, []*claims.ClaimRow{row})
	if err != nil {
		return err
	}
	for _, payout := range paying[row.ID] {
		if err := payouts.HoldForCompliance(ctx, adj.Tx, row, payout, "The payout is held: the source retracted the values that approved the claim."); err != nil {
			return err
		}
	}
	return nil
}

// newestRetractedClaim returns the policy's newest claim for the occurrence that was
// declined because its observations were retracted; nil if there is none.
func (adj *adjudication) newestRetractedClaim(p *underwriting.PolicyRow) (newest *claims.ClaimRow) {
	for _, c := range adj.relatedClaims[p.ID] {
		if adj.isFor(c) && c.IsRetracted() {
			newest = c
		}
	}
	return newest
}
