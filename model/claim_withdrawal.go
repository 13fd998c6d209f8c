package model

import (
	"context"

	"github.com/google/uuid"

	"parapet/model/wire"
)

// WithdrawalRequest takes a claim back.
type WithdrawalRequest struct {
	ClaimID string
	Note    *string // operators only, for their eyes
}

// WithdrawClaim ends a claim that waits: its partner's own, or any for an operator who
// was asked to. Nothing was reserved for it, and its occurrence is not claimed again.
// Errors: not_found, validation_failed, state_conflict.
func (s *Service) WithdrawClaim(ctx context.Context, actor Actor, in WithdrawalRequest) (*wire.Claim, error) {
	seen, err := s.claimOf(ctx, actor, actor.own(ScopeClaimsWrite), in.ClaimID)
	if err != nil {
		return nil, err
	}
	c := fieldCheck{}
	c.noteOf(actor, in.Note, "/note")
	if len(c.fields) > 0 {
		return nil, Invalid(c.fields...)
	}
	var claim *wire.Claim
	err = s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		row, err := u.lockClaim(ctx, seen.ID)
		if err != nil {
			return err
		}
		if row.Version != seen.Version {
			return overtaken()
		}
		if claim, err = u.withdraw(ctx, row); err != nil {
			return err
		}
		if actor.Kind != ActorPartner {
			u.judged(OperationWithdrawClaim, row, in.Note)
		}
		return u.answered(statusOK, claim.ID, claim)
	})
	return claim, err
}

func (u *unit) withdraw(ctx context.Context, row *claimRow) (*wire.Claim, error) {
	row.NextReviewAt = nil
	kind, err := move(ctx, u, row, ClaimArrows, &row.Status, ClaimWithdrawn, "next_review_at")
	if err != nil {
		return nil, err
	}
	claim, err := u.publicClaim(ctx, row)
	if err != nil {
		return nil, err
	}
	event, err := u.record(kind, &row.header, nounClaim, claim)
	if err != nil {
		return nil, err
	}
	if err := u.tell(row, kind, &event, "The claim was withdrawn.", map[string]any{"status": row.Status}); err != nil {
		return nil, err
	}
	if err := u.told(ctx, row); err != nil {
		return nil, err
	}
	return claim, u.reevaluatePossibleDuplicates(ctx, []uuid.UUID{row.PolicyID})
}
