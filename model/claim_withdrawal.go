package model

import (
	"context"

	"github.com/google/uuid"

	"parapet/model/wire"
)

// WithdrawalRequest withdraws a claim.
type WithdrawalRequest struct {
	ClaimID string
	Note    *string // operators only; partners do not see it
}

// WithdrawClaim ends a waiting claim. A partner withdraws its own claims; an operator
// withdraws any. No limit was reserved for the claim, and its occurrence is not claimed
// again. Errors: not_found, validation_failed, state_conflict.
func (s *Service) WithdrawClaim(ctx context.Context, actor Actor, in WithdrawalRequest) (*wire.Claim, error) {
	seen, err := s.loadClaim(ctx, actor, actor.scopeForOwnRecords(ScopeClaimsWrite), in.ClaimID)
	if err != nil {
		return nil, err
	}
	v := validator{}
	v.requireOperatorNote(actor, in.Note, "/note")
	if len(v.fieldErrors) > 0 {
		return nil, Invalid(v.fieldErrors...)
	}
	var claim *wire.Claim
	err = s.InTx(ctx, actor, func(ctx context.Context, tx *Tx) error {
		row, err := tx.lockClaim(ctx, seen.ID)
		if err != nil {
			return err
		}
		if row.Version != seen.Version {
			return versionConflict()
		}
		if claim, err = tx.withdrawClaim(ctx, row); err != nil {
			return err
		}
		if actor.Kind != ActorPartner {
			tx.recordClaimAction(OperationWithdrawClaim, row, in.Note)
		}
		return tx.storeResponse(statusOK, claim.ID, claim)
	})
	return claim, err
}

func (tx *Tx) withdrawClaim(ctx context.Context, row *claimRow) (*wire.Claim, error) {
	row.NextReviewAt = nil
	kind, err := transition(ctx, tx, row, ClaimTransitions, &row.Status, ClaimWithdrawn, "next_review_at")
	if err != nil {
		return nil, err
	}
	claim, err := tx.loadClaimRecord(ctx, row)
	if err != nil {
		return nil, err
	}
	event, err := tx.appendEvent(kind, &row.RowHeader, resourceClaim, claim)
	if err != nil {
		return nil, err
	}
	if err := tx.appendTimeline(row, kind, &event, "The claim was withdrawn.", map[string]any{"status": row.Status}); err != nil {
		return nil, err
	}
	if err := tx.saveTimelinePosition(ctx, row); err != nil {
		return nil, err
	}
	return claim, tx.reevaluatePossibleDuplicates(ctx, []uuid.UUID{row.PolicyID})
}
