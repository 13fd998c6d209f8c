package payouts

import (
	"context"
	"slices"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// HoldRequest holds a payout.
type HoldRequest struct {
	PayoutID string
	Reason   claims.BlockedReason // operator_hold or compliance_hold, public
	Note     string               // the reason in words; operators only
}

// LiftHoldRequest lifts a hold.
type LiftHoldRequest struct {
	PayoutID string
	Note     string // the reason; operators only
}

// Block holds a pending or blocked payout. A payout at the rail cannot be held,
// because its outcome is unknown.
func (s *Service) Block(ctx context.Context, actor actor.Actor, in HoldRequest) (*wire.Payout, error) {
	v := apperr.Validator{}
	v.Require(isHold(in.Reason), "/reason", "enum", "Use operator_hold or compliance_hold.")
	return s.changePayoutAsOperator(ctx, actor, in.PayoutID, &in.Note, audit.OperationBlockPayout, v.FieldErrors,
		func(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
			return holdPayout(ctx, tx, claim, row, in.Reason)
		})
}

// Unblock lifts an operator's hold. The payout becomes pending when nothing else
// blocks it, and otherwise shows the remaining reason. Operators only. Errors: not_found,
// validation_failed, state_conflict.
func (s *Service) Unblock(ctx context.Context, actor actor.Actor, in LiftHoldRequest) (*wire.Payout, error) {
	return s.changePayoutAsOperator(ctx, actor, in.PayoutID, &in.Note, audit.OperationUnblockPayout, nil,
		func(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
			return liftHold(ctx, tx, claim, row)
		})
}

// changePayoutAsOperator runs an operator's change of one payout and records the action.
func (s *Service) changePayoutAsOperator(ctx context.Context, caller actor.Actor, id string, note *string, operation audit.Operation, fieldErrors []apperr.FieldError,
	do func(context.Context, *store.Tx, *claims.ClaimRow, *claims.PayoutRow) error,
) (*wire.Payout, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.Validator{FieldErrors: fieldErrors}
	audit.RequireNote(&v, note, "/note")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	var payout *wire.Payout
	err := ChangePayout(ctx, s.Store, caller, "", id, func(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
		if err := do(ctx, tx, claim, row); err != nil {
			return err
		}
		if err := claims.SaveTimelinePosition(ctx, tx, claim); err != nil {
			return err
		}
		audit.RecordOperatorAction(tx, audit.OperatorActionRow{
			Operation: operation, Partner: row.Partner, PolicyID: &row.PolicyID, ClaimID: &row.ClaimID, PayoutID: &row.ID, Note: note,
		})
		payout = row.ToRecord()
		return tx.StoreResponse(store.StatusOK, payout.ID, payout)
	})
	return payout, err
}

func holdPayout(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, reason claims.BlockedReason) error {
	switch {
	case row.Status != claims.PayoutPending && row.Status != claims.PayoutBlocked:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; only a pending or blocked one can be held.", row.Status)
	case row.Status == claims.PayoutBlocked && *row.BlockedReason == reason:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is held for this reason already.")
	case row.Status == claims.PayoutBlocked && *row.BlockedReason == claims.BlockedRailMismatch:
		return apperr.Fail(apperr.CodeStateConflict, "The rail reports a payment that differs from the order; the payout stays blocked until that is resolved.")
	case row.Status == claims.PayoutBlocked && !IsHeld(row):
		row.PreviousBlockReason = row.BlockedReason
	}
	return blockPayout(ctx, tx, claim, row, reason, methodChange{})
}

// liftHold lifts the hold; the payout proceeds, or gets the reason that blocked it
// before. A double payment is decided first, by closing its exception.
func liftHold(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
	switch {
	case row.Status != claims.PayoutBlocked:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; there is no hold to lift.", row.Status)
	case !IsHeld(row):
		return apperr.Fail(apperr.CodeStateConflict, "The payout is not held by an operator but blocked by %s.", *row.BlockedReason)
	}
	duplicate, err := isDuplicate(ctx, tx, row)
	switch {
	case err != nil:
		return err
	case duplicate && *row.BlockedReason == claims.BlockedCompliance:
		return apperr.Fail(apperr.CodeStateConflict, "Another payout paid for the same event or may have: if this one is owed too, close the exception of kind paid_twice "+
			"(reconciliationExceptions, closeReconciliationException), then lift the hold.")
	}
	if claim.IsHeldByRetraction() && *row.BlockedReason == claims.BlockedCompliance {
		if err := claims.SaveRetraction(ctx, tx, claim, new(claims.RetractionLifted)); err != nil {
			return err
		}
	}
	withdrawSettlement(tx, row)
	p, method, err := LoadDestination(ctx, tx, claim, row)
	if err != nil {
		return err
	}
	return advance(ctx, tx, p, claim, row, method, "The hold was lifted; the payout can be sent.")
}

// IsHeld reports whether an operator holds the payout.
func IsHeld(r *claims.PayoutRow) bool { return r.BlockedReason != nil && isHold(*r.BlockedReason) }

func isHold(b claims.BlockedReason) bool { return slices.Contains(HoldReasons(), b) }

// HoldReasons lists the reasons for which operators hold payouts.
func HoldReasons() []claims.BlockedReason {
	return []claims.BlockedReason{claims.BlockedOperator, claims.BlockedCompliance}
}
