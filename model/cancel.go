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
	Reason   *string // operators only, for their eyes, and they must give one
}

// CancelPolicy ends an active policy's cover now: what happened before stays
// claimable, what happens after is not covered. Where cover had not begun, the premium
// is reversed. Partners cancel their own policies before they begin, operators any.
// Errors: not_found, validation_failed, state_conflict.
func (s *Service) CancelPolicy(ctx context.Context, actor Actor, in CancellationRequest) (*wire.Policy, error) {
	if err := s.authorize(ctx, actor, actor.own(ScopePoliciesWrite)); err != nil {
		return nil, err
	}
	c := fieldCheck{}
	if in.Reason == nil && actor.Kind != ActorPartner {
		in.Reason = new("")
	}
	c.noteOf(actor, in.Reason, "/reason")
	if len(c.fields) > 0 {
		return nil, Invalid(c.fields...)
	}
	id, err := nounPolicy.parse(in.PolicyID)
	if err != nil {
		return nil, err
	}
	var policy *wire.Policy
	err = s.change(ctx, actor, func(ctx context.Context, u *unit) error {
		row := new(policyRow)
		if err := u.locked(ctx, row, id, nounPolicy); err != nil {
			return err
		}
		if err := u.cancel(ctx, row); err != nil {
			return err
		}
		if actor.Kind != ActorPartner {
			u.adjudicated(adjudicationRow{Operation: OperationCancelPolicy, Partner: row.Partner, PolicyID: &row.ID, Note: in.Reason})
		}
		claims, err := claimsOf(ctx, u, []uuid.UUID{row.ID})
		if err != nil {
			return err
		}
		policy = row.public(u.now, claims[row.ID])
		return u.answered(statusOK, policy.ID, policy)
	})
	return policy, err
}

func (u *unit) cancel(ctx context.Context, row *policyRow) error {
	if err := u.renew(ctx); err != nil {
		return err
	}
	if row.Status == PolicyActive && !u.now.Before(row.ExpiresAt) {
		return Fail(CodeStateConflict, "Its cover ended at %s; there is nothing to cancel.", row.ExpiresAt.Format(time.RFC3339))
	}
	begun := !u.now.Before(row.EffectiveAt)
	if begun && u.actor.Kind == ActorPartner && row.Status == PolicyActive {
		return Fail(CodeStateConflict, "Its cover began at %s; you can cancel a policy before that. Ask the operators to end cover that has begun.", row.EffectiveAt.Format(time.RFC3339))
	}
	open, err := u.openUntil(ctx, row)
	if err != nil {
		return err
	}
	row.CancelledAt = new(maxTime(u.now, open))
	claims, err := claimsOf(ctx, u, []uuid.UUID{row.ID})
	if err != nil {
		return err
	}
	event, err := move(ctx, u, row, PolicyArrows, &row.Status, PolicyCancelled, "cancelled_at")
	if err != nil {
		return err
	}
	cancelled, err := u.record(event, &row.header, nounPolicy, row.public(u.now, claims[row.ID]))
	if err != nil || begun {
		return err
	}
	return u.reversePremium(ctx, cancelled, row)
}

// reversePremium posts that cover which never began is not paid for.
func (u *unit) reversePremium(ctx context.Context, event uuid.UUID, row *policyRow) error {
	quote := new(quoteRow)
	if err := u.NewSelect().Model(quote).Where("id = ?", row.QuoteID).Where("partner = ?", row.Partner).Scan(ctx); err != nil {
		return fmt.Errorf("read the price of a policy: %w", err)
	}
	u.postings = append(u.postings, row.premium(event, u.now, &quote.Price).reversed())
	return nil
}

// openUntil is the end of the last day of rain that a waiting claim counts, which
// may be today's: to end cover before it would undo the claim.
func (u *unit) openUntil(ctx context.Context, row *policyRow) (time.Time, error) {
	if row.Station == nil {
		return u.now, nil
	}
	var end *time.Time
	err := u.NewSelect().Model((*claimRow)(nil)).ColumnExpr("max(oc.last_at) + interval '1 day'").
		Join("join occurrences oc on oc.id = c.occurrence_id").Where("c.policy_id = ?", row.ID).Where("c.partner = ?", row.Partner).
		Where("c.status = ?", ClaimDeferred).Scan(ctx, &end)
	if err != nil || end == nil {
		return u.now, err
	}
	return end.UTC(), nil
}
