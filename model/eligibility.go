package model

import (
	"context"
	"time"
)

// releaseCheck is the result of checking a payout: the reason that blocks it, or the
// earliest time of its release.
type releaseCheck struct {
	blocked   BlockedReason // empty when nothing blocks it
	releaseAt time.Time
	approved  bool // at least one operator approved exactly this payout
}

// blocker returns the reason that blocks a payout. An account that replaced another is
// paid after one day, or when an operator approves it.
func (tx *Tx) blocker(ctx context.Context, p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow) (releaseCheck, error) {
	needed, err := requiredApprovals(ctx, tx.store, tx, p, claim, row)
	if err != nil {
		return releaseCheck{}, err
	}
	row.ApprovalsNeeded = needed
	arrived, err := tx.hasArrived(ctx, row)
	if err == nil && !arrived && (row.Installment > 1 || row.ReplacesPayoutID != nil) {
		arrived, err = tx.hasExcess(ctx, row, row.ReplacesPayoutID != nil)
	}
	switch {
	case err != nil:
		return releaseCheck{}, err
	case arrived:
		return releaseCheck{blocked: BlockedRailMismatch}, nil
	case claim.isHeldByRetraction():
		return releaseCheck{blocked: BlockedCompliance}, nil
	case method == nil:
		return releaseCheck{blocked: BlockedMethodMissing}, nil
	case method.Status != MethodVerified:
		return releaseCheck{blocked: BlockedMethodUnverified}, nil
	case needed == 0 && !method.inCoolingOff(tx.now):
		return releaseCheck{releaseAt: tx.now}, nil
	}
	given, err := tx.loadApprovals(ctx, row, method)
	switch {
	case err != nil:
		return releaseCheck{}, err
	case len(given) < needed:
		return releaseCheck{blocked: BlockedApproval, approved: len(given) > 0}, nil
	case len(given) == 0:
		return releaseCheck{releaseAt: *method.CoolingOffUntil}, nil
	default:
		return releaseCheck{releaseAt: tx.now, approved: true}, nil
	}
}

// ReevaluatePayouts checks again what blocks the payouts of a claim, after the rail
// rejected one of them: its account may have been replaced while it was in flight.
func (s *Service) ReevaluatePayouts(ctx context.Context, in ReevaluatePayouts) error {
	id, err := resourceClaim.parseID(in.Claim)
	if err != nil {
		return err
	}
	return s.InTx(ctx, System(), func(ctx context.Context, tx *Tx) error {
		p, claim, err := tx.lockClaimAndPolicy(ctx, id)
		if err != nil {
			return err
		}
		return tx.reevaluatePayouts(ctx, p, claim)
	})
}

// reevaluatePayouts checks a claim's payouts again after its methods changed. A payout
// that another method unblocks becomes pending; others get their new reason. A payout
// that was about to go to a replaced method does not go there. A held payout stays held
// and shows the method that it would go to.
func (tx *Tx) reevaluatePayouts(ctx context.Context, p *policyRow, claim *claimRow) error {
	var rows []*payoutRow
	err := tx.NewSelect().Model(&rows).Where("po.claim_id = ?", claim.ID).Where("po.partner = ?", claim.Partner).
		Where("(po.status = ? or po.status = ? and po.blocked_reason <> ?)", PayoutPending, PayoutBlocked, BlockedRailMismatch).
		OrderExpr("po.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	methods, err := loadUsableMethods(ctx, tx, []*policyRow{p})
	if err != nil {
		return err
	}
	method := selectMethod(methods[p.ID], claim.ID)
	for _, row := range rows {
		tx.advanceClock(&row.RowHeader)
		if err := tx.reevaluatePayout(ctx, p, claim, row, method); err != nil {
			return err
		}
	}
	return tx.saveTimelinePosition(ctx, claim)
}

func (tx *Tx) reevaluatePayout(ctx context.Context, p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow) error {
	switch {
	case row.Status == PayoutPending && row.isForMethod(method):
		return nil
	case row.isHeld():
		return tx.changeHeldMethod(ctx, claim, row, method)
	}
	summary := "The payout can go out: its payout method is verified."
	if row.Status == PayoutPending {
		summary = "The payout goes to another payout method."
	}
	return tx.advance(ctx, p, claim, row, method, summary)
}

// advance makes a payout pending when nothing blocks it, and otherwise stores the reason.
func (tx *Tx) advance(ctx context.Context, p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow, summary string) error {
	was := row.BlockedReason
	if row.isHeld() {
		was = row.PreviousBlockReason
	}
	check, err := tx.remainingBlocker(ctx, p, claim, row, method, was)
	switch {
	case err != nil:
		return err
	case check.blocked == "":
		return tx.makePending(ctx, claim, row, method, check, summary)
	}
	change, err := tx.changeMethod(ctx, row, method, row.visibleMethodID(method, check))
	if err != nil {
		return err
	}
	return tx.blockPayout(ctx, claim, row, check.blocked, change)
}

// remainingBlocker returns what still blocks a payout that was blocked for a reason. A
// rail that rejected an account is not asked about it again: only another verified
// account unblocks the payout, and it needs no waiting time, because the rejected one
// cannot be paid.
func (tx *Tx) remainingBlocker(ctx context.Context, p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow, was *BlockedReason) (releaseCheck, error) {
	refused := was != nil && *was == BlockedRailRejected
	if refused && (method == nil || row.isForMethod(method)) {
		return releaseCheck{blocked: BlockedRailRejected}, nil
	}
	left, err := tx.blocker(ctx, p, claim, row, method)
	switch {
	case refused && left.blocked == BlockedMethodUnverified:
		left.blocked = BlockedRailRejected
	case refused && left.blocked == "":
		left.releaseAt = tx.now
	}
	return left, err
}

// makePending makes a payout pending with a method; a pending payout gets the new method.
func (tx *Tx) makePending(ctx context.Context, claim *claimRow, row *payoutRow, method *payoutMethodRow, check releaseCheck, summary string) error {
	change, err := tx.changeMethod(ctx, row, method, &method.ID)
	if err != nil {
		return err
	}
	summary += change.sentence
	if check.releaseAt.After(tx.now) {
		summary += " It goes out at " + check.releaseAt.Format(time.RFC3339) + ", because its payout method changed."
	}
	row.NextAttemptAt = &check.releaseAt
	tx.enqueueRelease(row)
	if row.Status != PayoutPending {
		return tx.transitionPayout(ctx, claim, row, PayoutPending, summary)
	}
	if err := tx.saveColumns(ctx, row, "payout_method_id", "next_attempt_at", "approvals_needed"); err != nil {
		return err
	}
	return tx.recordPayoutEvent(claim, row, row.ledgerTransfer(), EventPayoutUpdated, summary)
}
