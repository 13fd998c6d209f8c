package model

import (
	"context"
	"slices"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// HoldRequest holds a payout.
type HoldRequest struct {
	PayoutID string
	Reason   BlockedReason // operator_hold or compliance_hold, public
	Note     string        // the reason in words; operators only
}

// LiftHoldRequest lifts a hold.
type LiftHoldRequest struct {
	PayoutID string
	Note     string // the reason; operators only
}

// BlockPayout holds a pending or blocked payout. A payout at the rail cannot be held,
// because its outcome is unknown.
func (s *Service) BlockPayout(ctx context.Context, actor actor.Actor, in HoldRequest) (*wire.Payout, error) {
	v := apperr.Validator{}
	v.Require(in.Reason.isHold(), "/reason", "enum", "Use operator_hold or compliance_hold.")
	return s.changePayoutAsOperator(ctx, actor, in.PayoutID, &in.Note, OperationBlockPayout, v.FieldErrors,
		func(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow) error {
			return holdPayout(ctx, tx, claim, row, in.Reason)
		})
}

// UnblockPayout lifts an operator's hold. The payout becomes pending when nothing else
// blocks it, and otherwise shows the remaining reason. Operators only. Errors: not_found,
// validation_failed, state_conflict.
func (s *Service) UnblockPayout(ctx context.Context, actor actor.Actor, in LiftHoldRequest) (*wire.Payout, error) {
	return s.changePayoutAsOperator(ctx, actor, in.PayoutID, &in.Note, OperationUnblockPayout, nil,
		func(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow) error {
			return liftHold(ctx, tx, claim, row)
		})
}

// changePayoutAsOperator runs an operator's change of one payout and records the action.
func (s *Service) changePayoutAsOperator(ctx context.Context, caller actor.Actor, id string, note *string, operation Operation, fieldErrors []apperr.FieldError,
	do func(context.Context, *store.Tx, *claimRow, *payoutRow) error,
) (*wire.Payout, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.Validator{FieldErrors: fieldErrors}
	requireNote(&v, note, "/note")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	var payout *wire.Payout
	err := s.changePayout(ctx, caller, "", id, func(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow) error {
		if err := do(ctx, tx, claim, row); err != nil {
			return err
		}
		if err := saveTimelinePosition(ctx, tx, claim); err != nil {
			return err
		}
		recordOperatorAction(tx, operatorActionRow{
			Operation: operation, Partner: row.Partner, PolicyID: &row.PolicyID, ClaimID: &row.ClaimID, PayoutID: &row.ID, Note: note,
		})
		payout = row.toRecord()
		return tx.StoreResponse(store.StatusOK, payout.ID, payout)
	})
	return payout, err
}

func holdPayout(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow, reason BlockedReason) error {
	switch {
	case row.Status != PayoutPending && row.Status != PayoutBlocked:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; only a pending or blocked one can be held.", row.Status)
	case row.Status == PayoutBlocked && *row.BlockedReason == reason:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is held for this reason already.")
	case row.Status == PayoutBlocked && *row.BlockedReason == BlockedRailMismatch:
		return apperr.Fail(apperr.CodeStateConflict, "The rail reports a payment that differs from the order; the payout stays blocked until that is resolved.")
	case row.Status == PayoutBlocked && !row.isHeld():
		row.PreviousBlockReason = row.BlockedReason
	}
	return blockPayout(ctx, tx, claim, row, reason, methodChange{})
}

// liftHold lifts the hold; the payout proceeds, or gets the reason that blocked it
// before.
func liftHold(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow) error {
	switch {
	case row.Status != PayoutBlocked:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; there is no hold to lift.", row.Status)
	case !row.isHeld():
		return apperr.Fail(apperr.CodeStateConflict, "The payout is not held by an operator but blocked by %s.", *row.BlockedReason)
	}
	if claim.isHeldByRetraction() && *row.BlockedReason == BlockedCompliance {
		if err := saveRetraction(ctx, tx, claim, new(RetractionLifted)); err != nil {
			return err
		}
	}
	withdrawSettlement(tx, row)
	p, method, err := loadDestination(ctx, tx, claim, row)
	if err != nil {
		return err
	}
	return advance(ctx, tx, p, claim, row, method, "The hold was lifted; the payout can go out.")
}

// isHeld reports whether an operator holds the payout.
func (r *payoutRow) isHeld() bool { return r.BlockedReason != nil && r.BlockedReason.isHold() }

func (b BlockedReason) isHold() bool { return slices.Contains(HoldReasons(), b) }

// HoldReasons lists the reasons for which operators hold payouts.
func HoldReasons() []BlockedReason { return []BlockedReason{BlockedOperator, BlockedCompliance} }
