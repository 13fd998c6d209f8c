package model

import (
	"context"
	"slices"

	"parapet/model/wire"
)

// HoldRequest keeps a payout from going out.
type HoldRequest struct {
	PayoutID string
	Reason   BlockedReason // operator_hold or compliance_hold, public
	Note     string        // why, private
}

// LiftRequest lifts a hold.
type LiftRequest struct {
	PayoutID string
	Note     string // why, private
}

// BlockPayout holds a payout that is pending or blocked. What is with the rail
// cannot be held: nobody can tell whether it is paid. Operators only. Errors:
// not_found, validation_failed, state_conflict.
func (s *Service) BlockPayout(ctx context.Context, actor Actor, in HoldRequest) (*wire.Payout, error) {
	c := fieldCheck{}
	c.that(in.Reason.held(), "/reason", "enum", "Use operator_hold or compliance_hold.")
	return s.handle(ctx, actor, in.PayoutID, &in.Note, OperationBlockPayout, c.fields,
		func(ctx context.Context, u *unit, claim *claimRow, row *payoutRow) error {
			return u.hold(ctx, claim, row, in.Reason)
		})
}

// UnblockPayout lifts an operator's hold. The payout goes on where nothing else
// blocks it, and otherwise names what does. Operators only. Errors: not_found,
// validation_failed, state_conflict.
func (s *Service) UnblockPayout(ctx context.Context, actor Actor, in LiftRequest) (*wire.Payout, error) {
	return s.handle(ctx, actor, in.PayoutID, &in.Note, OperationUnblockPayout, nil,
		func(ctx context.Context, u *unit, claim *claimRow, row *payoutRow) error {
			return u.liftHold(ctx, claim, row)
		})
}

// handle is an operator's change of one payout, with what it leaves behind.
func (s *Service) handle(ctx context.Context, actor Actor, id string, note *string, what Operation, wrong []FieldError,
	do func(context.Context, *unit, *claimRow, *payoutRow) error,
) (*wire.Payout, error) {
	if err := s.authorize(ctx, actor, ScopeOperator); err != nil {
		return nil, err
	}
	c := fieldCheck{fields: wrong}
	c.note(note, "/note")
	if len(c.fields) > 0 {
		return nil, Invalid(c.fields...)
	}
	var payout *wire.Payout
	err := s.payoutChange(ctx, actor, "", id, func(ctx context.Context, u *unit, claim *claimRow, row *payoutRow) error {
		if err := do(ctx, u, claim, row); err != nil {
			return err
		}
		if err := u.told(ctx, claim); err != nil {
			return err
		}
		u.adjudicated(adjudicationRow{
			Operation: what, Partner: row.Partner, PolicyID: &row.PolicyID, ClaimID: &row.ClaimID, PayoutID: &row.ID, Note: note,
		})
		payout = row.public()
		return u.answered(statusOK, payout.ID, payout)
	})
	return payout, err
}

func (u *unit) hold(ctx context.Context, claim *claimRow, row *payoutRow, reason BlockedReason) error {
	switch {
	case row.Status != PayoutPending && row.Status != PayoutBlocked:
		return Fail(CodeStateConflict, "The payout is %s; only a pending or blocked one can be held.", row.Status)
	case row.Status == PayoutBlocked && *row.BlockedReason == reason:
		return Fail(CodeStateConflict, "The payout is held for this reason already.")
	case row.Status == PayoutBlocked && *row.BlockedReason == BlockedRailMismatch:
		return Fail(CodeStateConflict, "The rail reports something else than was asked; that stays until it is resolved.")
	case row.Status == PayoutBlocked && !row.held():
		row.HeldOver = row.BlockedReason
	}
	return u.block(ctx, claim, row, reason, methodChange{})
}

// liftHold lets the payout go on, or leaves it to what blocked it before.
func (u *unit) liftHold(ctx context.Context, claim *claimRow, row *payoutRow) error {
	switch {
	case row.Status != PayoutBlocked:
		return Fail(CodeStateConflict, "The payout is %s; there is no hold to lift.", row.Status)
	case !row.held():
		return Fail(CodeStateConflict, "The payout is not held by an operator but blocked by %s.", *row.BlockedReason)
	}
	if claim.isHeld() && *row.BlockedReason == BlockedCompliance {
		if err := u.saveRetraction(ctx, claim, new(RetractionLifted)); err != nil {
			return err
		}
	}
	u.withdrawSettlement(row)
	p, method, err := u.destination(ctx, claim, row)
	if err != nil {
		return err
	}
	return u.goOn(ctx, p, claim, row, method, "The hold was lifted; the payout can go out.")
}

// held tells whether a person keeps the payout from going out.
func (r *payoutRow) held() bool { return r.BlockedReason != nil && r.BlockedReason.held() }

func (b BlockedReason) held() bool { return slices.Contains(HoldReasons(), b) }

// HoldReasons are a person's reasons to keep a payout from going out.
func HoldReasons() []BlockedReason { return []BlockedReason{BlockedOperator, BlockedCompliance} }
