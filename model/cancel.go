package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/wire"
)

// CancellationRequest ends cover early.
type CancellationRequest struct {
	PolicyID string
	Reason   *string // operators only: required, and visible to operators only
}

// CancelPolicy ends an active policy's cover now: earlier events stay claimable, later
// ones are not covered. If cover had not begun, it reverses the premium. Partners cancel
// their own policies before they begin, operators any. Errors: not_found,
// validation_failed, state_conflict.
func (s *Service) CancelPolicy(ctx context.Context, actor Actor, in CancellationRequest) (*wire.Policy, error) {
	if err := s.authorize(ctx, actor, actor.scopeForOwnRecords(ScopePoliciesWrite)); err != nil {
		return nil, err
	}
	v := validator{}
	if in.Reason == nil && actor.Kind != ActorPartner {
		in.Reason = new("")
	}
	v.requireOperatorNote(actor, in.Reason, "/reason")
	if len(v.fieldErrors) > 0 {
		return nil, Invalid(v.fieldErrors...)
	}
	id, err := resourcePolicy.parseID(in.PolicyID)
	if err != nil {
		return nil, err
	}
	var policy *wire.Policy
	err = s.InTx(ctx, actor, func(ctx context.Context, tx *Tx) error {
		row := new(policyRow)
		if err := tx.lockRow(ctx, row, id, resourcePolicy); err != nil {
			return err
		}
		if err := tx.cancelPolicy(ctx, row); err != nil {
			return err
		}
		if actor.Kind != ActorPartner {
			tx.recordOperatorAction(operatorActionRow{Operation: OperationCancelPolicy, Partner: row.Partner, PolicyID: &row.ID, Note: in.Reason})
		}
		claims, err := loadPolicyClaims(ctx, tx, []uuid.UUID{row.ID})
		if err != nil {
			return err
		}
		policy = row.toRecord(tx.now, claims[row.ID])
		return tx.storeResponse(statusOK, policy.ID, policy)
	})
	return policy, err
}

func (tx *Tx) cancelPolicy(ctx context.Context, row *policyRow) error {
	if err := tx.refreshClock(ctx); err != nil {
		return err
	}
	if row.Status == PolicyActive && !tx.now.Before(row.ExpiresAt) {
		return Fail(CodeStateConflict, "Its cover ended at %s; there is nothing to cancel.", row.ExpiresAt.Format(time.RFC3339))
	}
	begun := !tx.now.Before(row.EffectiveAt)
	if begun && tx.actor.Kind == ActorPartner && row.Status == PolicyActive {
		return Fail(CodeStateConflict, "Its cover began at %s; you can cancel a policy before that. Ask the operators to end cover that has begun.", row.EffectiveAt.Format(time.RFC3339))
	}
	open, err := tx.endOfPendingRain(ctx, row)
	if err != nil {
		return err
	}
	row.CancelledAt = new(laterTime(tx.now, open))
	claims, err := loadPolicyClaims(ctx, tx, []uuid.UUID{row.ID})
	if err != nil {
		return err
	}
	event, err := transition(ctx, tx, row, PolicyTransitions, &row.Status, PolicyCancelled, "cancelled_at")
	if err != nil {
		return err
	}
	cancelled, err := tx.appendEvent(event, &row.RowHeader, resourcePolicy, row.toRecord(tx.now, claims[row.ID]))
	if err != nil || begun {
		return err
	}
	return tx.reversePremium(ctx, cancelled, row)
}

// reversePremium posts the reversal of the premium for cover that never began.
func (tx *Tx) reversePremium(ctx context.Context, event uuid.UUID, row *policyRow) error {
	quote := new(quoteRow)
	if err := tx.NewSelect().Model(quote).Where("id = ?", row.QuoteID).Where("partner = ?", row.Partner).Scan(ctx); err != nil {
		return fmt.Errorf("read the price of a policy: %w", err)
	}
	tx.addPostings(row.premiumPostings(event, tx.now, &quote.Price).reversed())
	return nil
}

// endOfPendingRain returns the end of the last rain day that a waiting claim counts,
// which may be today. Cover must not end before it, because that would invalidate the
// claim.
func (tx *Tx) endOfPendingRain(ctx context.Context, row *policyRow) (time.Time, error) {
	if row.Station == nil {
		return tx.now, nil
	}
	var end *time.Time
	err := tx.NewSelect().TableExpr("claims as c").ColumnExpr("max(oc.last_at) + interval '1 day'").
		Join("join occurrences oc on oc.id = c.occurrence_id").Where("c.policy_id = ?", row.ID).Where("c.partner = ?", row.Partner).
		Where("c.status = 'deferred'").Scan(ctx, &end)
	if err != nil || end == nil {
		return tx.now, err
	}
	return end.UTC(), nil
}
