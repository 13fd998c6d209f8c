package underwriting

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/quoting"
	"parapet/model/wire"
)

// CancellationRequest ends cover early.
type CancellationRequest struct {
	PolicyID string
	Reason   *string // operators only: required, and visible to operators only
}

// Cancel ends an active policy's cover now: earlier events stay claimable, later
// ones are not covered. If cover had not begun, it reverses the premium. Partners cancel
// their own policies before they begin, operators any. Errors: not_found,
// validation_failed, state_conflict.
func (s *Service) Cancel(ctx context.Context, caller actor.Actor, in CancellationRequest) (*wire.Policy, error) {
	if err := s.Authorize(ctx, caller, caller.ScopeForOwnRecords(actor.ScopePoliciesWrite)); err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	if in.Reason == nil && caller.Kind != actor.KindPartner {
		in.Reason = new("")
	}
	audit.RequireOperatorNote(&v, caller, in.Reason, "/reason")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	id, err := store.ResourcePolicy.ParseID(in.PolicyID)
	if err != nil {
		return nil, err
	}
	var policy *wire.Policy
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		row := new(PolicyRow)
		if err := tx.LockRow(ctx, row, id, store.ResourcePolicy); err != nil {
			return err
		}
		if err := cancelPolicy(ctx, tx, row); err != nil {
			return err
		}
		if caller.Kind != actor.KindPartner {
			audit.RecordOperatorAction(tx, audit.OperatorActionRow{Operation: audit.OperationCancelPolicy, Partner: row.Partner, PolicyID: &row.ID, Note: in.Reason})
		}
		claims, err := LoadPolicyClaims(ctx, tx, []uuid.UUID{row.ID})
		if err != nil {
			return err
		}
		policy = row.ToRecord(tx.Now, claims[row.ID])
		return tx.StoreResponse(store.StatusOK, policy.ID, policy)
	})
	return policy, err
}

func cancelPolicy(ctx context.Context, tx *store.Tx, row *PolicyRow) error {
	if err := tx.RefreshClock(ctx); err != nil {
		return err
	}
	if row.Status == PolicyActive && !tx.Now.Before(row.ExpiresAt) {
		return apperr.Fail(apperr.CodeStateConflict, "Its cover ended at %s; there is nothing to cancel.", row.ExpiresAt.Format(time.RFC3339))
	}
	begun := !tx.Now.Before(row.EffectiveAt)
	if begun && tx.Actor.Kind == actor.KindPartner && row.Status == PolicyActive {
		return apperr.Fail(apperr.CodeStateConflict, "Its cover began at %s; you can cancel a policy before that. Ask the operators to end cover that has begun.", row.EffectiveAt.Format(time.RFC3339))
	}
	open, err := endOfPendingRain(ctx, tx, row)
	if err != nil {
		return err
	}
	row.CancelledAt = new(store.LaterTime(tx.Now, open))
	claims, err := LoadPolicyClaims(ctx, tx, []uuid.UUID{row.ID})
	if err != nil {
		return err
	}
	event, err := store.ChangeStatus(ctx, tx, row, PolicyTransitions, &row.Status, PolicyCancelled, "cancelled_at")
	if err != nil {
		return err
	}
	cancelled, err := tx.AppendEvent(event, &row.RowHeader, store.ResourcePolicy, row.ToRecord(tx.Now, claims[row.ID]))
	if err != nil || begun {
		return err
	}
	return reversePremium(ctx, tx, cancelled, row)
}

// reversePremium posts the reversal of the premium for cover that never began.
func reversePremium(ctx context.Context, tx *store.Tx, event uuid.UUID, row *PolicyRow) error {
	quote := new(quoting.QuoteRow)
	if err := tx.NewSelect().Model(quote).Where("id = ?", row.QuoteID).Where("partner = ?", row.Partner).Scan(ctx); err != nil {
		return fmt.Errorf("read the price of a policy: %w", err)
	}
	ledger.AddPostings(tx, row.premiumPostings(event, tx.Now, &quote.Price).Reversed())
	return nil
}

// endOfPendingRain returns the end of the last rain day that a waiting claim counts,
// which may be today. Cover must not end before it, because that would invalidate the
// claim.
func endOfPendingRain(ctx context.Context, tx *store.Tx, row *PolicyRow) (time.Time, error) {
	if row.Station == nil {
		return tx.Now, nil
	}
	var end *time.Time
	err := tx.NewSelect().TableExpr("claims as c").ColumnExpr("max(oc.last_at) + interval '1 day'").
		Join("join occurrences oc on oc.id = c.occurrence_id").Where("c.policy_id = ?", row.ID).Where("c.partner = ?", row.Partner).
		Where("c.status = 'deferred'").Scan(ctx, &end)
	if err != nil || end == nil {
		return tx.Now, err
	}
	return end.UTC(), nil
}
