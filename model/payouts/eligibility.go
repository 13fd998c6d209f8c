package payouts

import (
	"context"
	"time"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// releaseCheck is the result of checking a payout: the reason that blocks it, or the
// earliest time of its release.
type releaseCheck struct {
	blocked   claims.BlockedReason // empty when nothing blocks it
	releaseAt time.Time
	approved  bool // at least one operator approved exactly this payout
}

// blocker returns the reason that blocks a payout. An account that replaced another is
// paid after one day, or when an operator approves it.
func blocker(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, claim *claims.ClaimRow, row *claims.PayoutRow, method *PayoutMethodRow) (releaseCheck, error) {
	needed, err := requiredApprovals(ctx, tx.Store, tx, p, claim, row)
	if err != nil {
		return releaseCheck{}, err
	}
	row.ApprovalsNeeded = needed
	arrived, err := hasArrived(ctx, tx, row)
	if err == nil && !arrived && (row.Installment > 1 || row.ReplacesPayoutID != nil) {
		arrived, err = hasExcess(ctx, tx, row, row.ReplacesPayoutID != nil)
	}
	held := claim.IsHeldByRetraction()
	if err == nil && !held {
		held, err = isDuplicate(ctx, tx, row)
	}
	switch {
	case err != nil:
		return releaseCheck{}, err
	case arrived:
		return releaseCheck{blocked: claims.BlockedRailMismatch}, nil
	case held:
		return releaseCheck{blocked: claims.BlockedCompliance}, nil
	case method == nil:
		return releaseCheck{blocked: claims.BlockedMethodMissing}, nil
	case method.Status != MethodVerified:
		return releaseCheck{blocked: claims.BlockedMethodUnverified}, nil
	case needed == 0 && !method.inCoolingOff(tx.Now):
		return releaseCheck{releaseAt: tx.Now}, nil
	}
	given, err := loadApprovals(ctx, tx, row, method)
	switch {
	case err != nil:
		return releaseCheck{}, err
	case len(given) < needed:
		return releaseCheck{blocked: claims.BlockedApproval, approved: len(given) > 0}, nil
	case len(given) == 0:
		return releaseCheck{releaseAt: *method.CoolingOffUntil}, nil
	default:
		return releaseCheck{releaseAt: tx.Now, approved: true}, nil
	}
}

// Reevaluate checks again what blocks the payouts of a claim, after one of them came back
// from the rail unpaid: its account may have been replaced while it was in flight.
func (s *Service) Reevaluate(ctx context.Context, in ReevaluatePayouts) error {
	id, err := store.ResourceClaim.ParseID(in.Claim)
	if err != nil {
		return err
	}
	return s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		p, claim, err := LockClaimAndPolicy(ctx, tx, id)
		if err != nil {
			return err
		}
		return reevaluatePayouts(ctx, tx, p, claim)
	})
}

// reevaluatePayouts checks a claim's payouts again after its methods changed. A payout
// that another method unblocks becomes pending; others get their new reason. A payout
// that was about to go to a replaced method does not go there. A held payout stays held
// and shows the method that it would go to.
func reevaluatePayouts(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, claim *claims.ClaimRow) error {
	var rows []*claims.PayoutRow
	err := tx.NewSelect().Model(&rows).Where("po.claim_id = ?", claim.ID).Where("po.partner = ?", claim.Partner).
		Where("(po.status = ? or po.status = ? and po.blocked_reason <> ?)", claims.PayoutPending, claims.PayoutBlocked, claims.BlockedRailMismatch).
		OrderExpr("po.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	methods, err := LoadUsableMethods(ctx, tx, []*underwriting.PolicyRow{p})
	if err != nil {
		return err
	}
	method := SelectMethod(methods[p.ID], claim.ID)
	for _, row := range rows {
		tx.AdvanceClock(&row.RowHeader)
		if err := reevaluatePayout(ctx, tx, p, claim, row, method); err != nil {
			return err
		}
	}
	return claims.SaveTimelinePosition(ctx, tx, claim)
}

func reevaluatePayout(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, claim *claims.ClaimRow, row *claims.PayoutRow, method *PayoutMethodRow) error {
	switch {
	case row.Status == claims.PayoutPending && isForMethod(row, method):
		return nil
	case IsHeld(row):
		return changeHeldMethod(ctx, tx, claim, row, method)
	}
	summary := "The payout can be sent: its payout method is verified."
	if row.Status == claims.PayoutPending {
		summary = "The payout goes to another payout method."
	}
	return advance(ctx, tx, p, claim, row, method, summary)
}

// advance makes a payout pending when nothing blocks it, and otherwise stores the reason.
func advance(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, claim *claims.ClaimRow, row *claims.PayoutRow, method *PayoutMethodRow, summary string) error {
	was := row.BlockedReason
	if IsHeld(row) {
		was = row.PreviousBlockReason
	}
	check, err := remainingBlocker(ctx, tx, p, claim, row, method, was)
	switch {
	case err != nil:
		return err
	case check.blocked == "":
		return makePending(ctx, tx, claim, row, method, check, summary)
	}
	change, err := changeMethod(ctx, tx, row, method, visibleMethodID(row, method, check))
	if err != nil {
		return err
	}
	return blockPayout(ctx, tx, claim, row, check.blocked, change)
}

// remainingBlocker returns what still blocks a payout that was blocked for a reason. A
// rail that rejected an account is not asked about it again: only another verified
// account unblocks the payout, and it needs no waiting time, because the rejected one
// cannot be paid.
func remainingBlocker(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, claim *claims.ClaimRow, row *claims.PayoutRow, method *PayoutMethodRow, was *claims.BlockedReason) (releaseCheck, error) {
	refused := was != nil && *was == claims.BlockedRailRejected
	if refused && (method == nil || isForMethod(row, method)) {
		return releaseCheck{blocked: claims.BlockedRailRejected}, nil
	}
	left, err := blocker(ctx, tx, p, claim, row, method)
	switch {
	case refused && left.blocked == claims.BlockedMethodUnverified:
		left.blocked = claims.BlockedRailRejected
	case refused && left.blocked == "":
		left.releaseAt = tx.Now
	}
	return left, err
}

// makePending makes a payout pending with a method; a pending payout gets the new method.
func makePending(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, method *PayoutMethodRow, check releaseCheck, summary string) error {
	change, err := changeMethod(ctx, tx, row, method, &method.ID)
	if err != nil {
		return err
	}
	summary += change.sentence
	if check.releaseAt.After(tx.Now) {
		summary += " It is sent at " + check.releaseAt.Format(time.RFC3339) + ", because its payout method changed."
	}
	row.NextAttemptAt = &check.releaseAt
	EnqueueRelease(tx, row)
	if row.Status != claims.PayoutPending {
		return transitionPayout(ctx, tx, claim, row, claims.PayoutPending, summary)
	}
	if err := tx.SaveColumns(ctx, row, "payout_method_id", "next_attempt_at", "approvals_needed"); err != nil {
		return err
	}
	return RecordPayoutEvent(tx, claim, row, LedgerTransfer(row), event.PayoutUpdated, summary)
}
