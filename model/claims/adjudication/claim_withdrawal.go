package adjudication

import (
	"context"

	"github.com/google/uuid"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/claims/measured"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// WithdrawalRequest withdraws a claim.
type WithdrawalRequest struct {
	ClaimID string
	Note    *string // operators only; partners do not see it
}

// Withdraw ends a waiting claim. A partner withdraws its own claims; an operator
// withdraws any. No limit was reserved for the claim, and its occurrence is not claimed
// again. Errors: not_found, validation_failed, state_conflict.
func (s *Service) Withdraw(ctx context.Context, caller actor.Actor, in WithdrawalRequest) (*wire.Claim, error) {
	seen, err := claims.LoadClaim(ctx, s.Store, caller, caller.ScopeForOwnRecords(actor.ScopeClaimsWrite), in.ClaimID)
	if err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	audit.RequireOperatorNote(&v, caller, in.Note, "/note")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	var claim *wire.Claim
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row, err := claims.LockClaim(ctx, tx, seen.ID)
		if err != nil {
			return err
		}
		if row.Version != seen.Version {
			return store.VersionConflict()
		}
		if claim, err = withdrawClaim(ctx, tx, row); err != nil {
			return err
		}
		if caller.Kind != actor.KindPartner {
			recordClaimAction(tx, audit.OperationWithdrawClaim, row, in.Note)
		}
		if err := measured.Attach(ctx, tx, claim); err != nil {
			return err
		}
		return tx.StoreResponse(store.StatusOK, claim.ID, claim)
	})
	return claim, err
}

func withdrawClaim(ctx context.Context, tx *store.Tx, row *claims.ClaimRow) (*wire.Claim, error) {
	row.NextReviewAt = nil
	kind, err := store.ChangeStatus(ctx, tx, row, claims.ClaimTransitions, &row.Status, claims.ClaimWithdrawn, "next_review_at")
	if err != nil {
		return nil, err
	}
	claim, err := claims.LoadClaimRecord(ctx, tx, row)
	if err != nil {
		return nil, err
	}
	event, err := tx.AppendEvent(kind, &row.RowHeader, store.ResourceClaim, claim)
	if err != nil {
		return nil, err
	}
	if err := claims.AppendTimeline(tx, row, kind, &event, "The claim was withdrawn.", map[string]any{"status": row.Status}); err != nil {
		return nil, err
	}
	if err := claims.SaveTimelinePosition(ctx, tx, row); err != nil {
		return nil, err
	}
	return claim, reevaluatePossibleDuplicates(ctx, tx, []uuid.UUID{row.PolicyID})
}
