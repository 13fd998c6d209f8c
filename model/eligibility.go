package model

import (
	"context"
	"time"
)

// way is what lies before a payout: what blocks it, or from when on it may go out.
type way struct {
	blocked  BlockedReason // empty when nothing does
	from     time.Time
	approved bool // at least one operator approved exactly this
}

// obstacle is what keeps a payout from being released. To an account that took
// another's place it goes after a day, or when an operator consented.
func (u *unit) obstacle(ctx context.Context, p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow) (way, error) {
	needed, err := u.svc.consents(ctx, u, p, claim, row)
	if err != nil {
		return way{}, err
	}
	row.ApprovalsNeeded = needed
	arrived, err := u.hasArrived(ctx, row)
	if err == nil && !arrived && (row.Part > 1 || row.ReplacesPayoutID != nil) {
		arrived, err = u.hasExcess(ctx, row, row.ReplacesPayoutID != nil)
	}
	switch {
	case err != nil:
		return way{}, err
	case arrived:
		return way{blocked: BlockedRailMismatch}, nil
	case claim.isHeld():
		return way{blocked: BlockedCompliance}, nil
	case method == nil:
		return way{blocked: BlockedMethodMissing}, nil
	case method.Status != MethodVerified:
		return way{blocked: BlockedMethodUnverified}, nil
	case needed == 0 && !method.cools(u.now):
		return way{from: u.now}, nil
	}
	given, err := u.approvals(ctx, row, method)
	switch {
	case err != nil:
		return way{}, err
	case len(given) < needed:
		return way{blocked: BlockedApproval, approved: len(given) > 0}, nil
	case len(given) == 0:
		return way{from: *method.CoolsUntil}, nil
	default:
		return way{from: u.now, approved: true}, nil
	}
}

// ReevaluatePayouts looks again at what blocks the payouts of a claim, after the rail
// refused one of them: its account may have been replaced while it was on its way.
func (s *Service) ReevaluatePayouts(ctx context.Context, in ReevaluatePayouts) error {
	id, err := nounClaim.parse(in.Claim)
	if err != nil {
		return err
	}
	return s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		p, claim, err := u.lockClaimAndPolicy(ctx, id)
		if err != nil {
			return err
		}
		return u.reconsider(ctx, p, claim)
	})
}

// reconsider looks at a claim's payouts again after its methods changed. What
// another method can cure becomes pending or gets its new reason; what was about
// to go to a method that was replaced does not. A held payout stays held and shows the
// method that it would go to.
func (u *unit) reconsider(ctx context.Context, p *policyRow, claim *claimRow) error {
	var rows []*payoutRow
	err := u.NewSelect().Model(&rows).Where("po.claim_id = ?", claim.ID).Where("po.partner = ?", claim.Partner).
		Where("(po.status = ? or po.status = ? and po.blocked_reason <> ?)", PayoutPending, PayoutBlocked, BlockedRailMismatch).
		OrderExpr("po.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	methods, err := methodsOf(ctx, u, []*policyRow{p})
	if err != nil {
		return err
	}
	method := chosen(methods[p.ID], claim.ID)
	for _, row := range rows {
		u.since(&row.header)
		if err := u.unblock(ctx, p, claim, row, method); err != nil {
			return err
		}
	}
	return u.told(ctx, claim)
}

func (u *unit) unblock(ctx context.Context, p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow) error {
	switch {
	case row.Status == PayoutPending && row.goesTo(method):
		return nil
	case row.held():
		return u.changeHeld(ctx, claim, row, method)
	}
	summary := "The payout can go out: its payout method is verified."
	if row.Status == PayoutPending {
		summary = "The payout goes to another payout method."
	}
	return u.goOn(ctx, p, claim, row, method, summary)
}

// goOn lets a payout go where nothing blocks it any more, and otherwise names what
// does.
func (u *unit) goOn(ctx context.Context, p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow, summary string) error {
	was := row.BlockedReason
	if row.held() {
		was = row.HeldOver
	}
	way, err := u.remains(ctx, p, claim, row, method, was)
	switch {
	case err != nil:
		return err
	case way.blocked == "":
		return u.ready(ctx, claim, row, method, way, summary)
	}
	change, err := u.changeMethod(ctx, row, method, row.shown(method, way))
	if err != nil {
		return err
	}
	return u.block(ctx, claim, row, way.blocked, change)
}

// remains is what still blocks a payout that was blocked for a reason. A rail that
// said no to an account is not asked about it again: only another one that is
// verified helps, and it need not wait, as the first cannot be paid to.
func (u *unit) remains(ctx context.Context, p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow, was *BlockedReason) (way, error) {
	refused := was != nil && *was == BlockedRailRejected
	if refused && (method == nil || row.goesTo(method)) {
		return way{blocked: BlockedRailRejected}, nil
	}
	left, err := u.obstacle(ctx, p, claim, row, method)
	switch {
	case refused && left.blocked == BlockedMethodUnverified:
		left.blocked = BlockedRailRejected
	case refused && left.blocked == "":
		left.from = u.now
	}
	return left, err
}

// ready makes a payout pending with a method; one that is pending gets the new
// method.
func (u *unit) ready(ctx context.Context, claim *claimRow, row *payoutRow, method *payoutMethodRow, way way, summary string) error {
	change, err := u.changeMethod(ctx, row, method, &method.ID)
	if err != nil {
		return err
	}
	summary += change.sentence
	if way.from.After(u.now) {
		summary += " It goes out at " + way.from.Format(time.RFC3339) + ", because its payout method changed."
	}
	row.NextAttemptAt = &way.from
	u.release(row)
	if row.Status != PayoutPending {
		return u.movePayout(ctx, claim, row, PayoutPending, summary)
	}
	if err := u.save(ctx, row, "payout_method_id", "next_attempt_at", "approvals_needed"); err != nil {
		return err
	}
	return u.sayPayout(claim, row, row.stands(), EventPayoutUpdated, summary)
}
