package payouts

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// settlementRow is an operator's statement, confirmed by a second operator, that a payout
// which Parapet did not send was paid to the beneficiary.
type settlementRow struct {
	bun.BaseModel `bun:"table:external_settlements,alias:es"`

	ID          uuid.UUID `bun:",pk,type:uuid"`
	Partner     string    `bun:",pk"`
	PayoutID    uuid.UUID `bun:"type:uuid"`
	Reference   string
	ProposedAt  time.Time
	ProposedBy  actor.PersonID
	ConfirmedAt *time.Time
	ConfirmedBy *actor.PersonID
	WithdrawnAt *time.Time
}

// SettlementRequest states that a payout was paid although this database did not send it.
type SettlementRequest struct {
	PayoutID  string
	Reference string // the bank's reference of the payment
	Note      string // the evidence; operators only
}

// SettleExternally closes a waiting or held payout as already paid, for example one
// that was sent before the database was restored from a backup. The first operator
// proposes it, which holds the payout. Another operator confirms it with the same
// reference, which cancels the payout as settled. Lifting the hold withdraws the
// proposal. Operators only. Errors: not_found, validation_failed, state_conflict.
func (s *Service) SettleExternally(ctx context.Context, actor actor.Actor, in SettlementRequest) (*wire.Payout, error) {
	v := apperr.Validator{}
	v.Require(in.Reference != "", "/reference", "required", "Give the bank's reference of the payment.")
	v.Require(len(in.Reference) <= MaxRailReference && audit.IsStorableText(in.Reference), "/reference", "length", fmt.Sprintf("Use at most %d bytes.", MaxRailReference))
	return s.changePayoutAsOperator(ctx, actor, in.PayoutID, &in.Note, audit.OperationSettlePayout, v.FieldErrors,
		func(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
			return settleExternally(ctx, tx, claim, row, in.Reference)
		})
}

func settleExternally(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, reference string) error {
	switch {
	case row.Status == claims.PayoutReconciling || row.Status == claims.PayoutBlocked && *row.BlockedReason == claims.BlockedRailMismatch:
		return apperr.Fail(apperr.CodeStateConflict, "A rail was asked to pay it: resolve it by evidence (resolvePayout).")
	case row.Status != claims.PayoutPending && row.Status != claims.PayoutBlocked:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; only a pending or blocked payout can be settled externally.", row.Status)
	}
	proposed := new(settlementRow)
	err := tx.NewSelect().Model(proposed).Where("es.payout_id = ?", row.ID).Where("es.partner = ?", row.Partner).
		Where("es.confirmed_at is null").Where("es.withdrawn_at is null").Scan(ctx)
	switch {
	case store.IsNoRows(err):
		return proposeSettlement(ctx, tx, claim, row, reference)
	case err != nil:
		return fmt.Errorf("read settlement: %w", err)
	case proposed.ProposedBy.IsActor(tx.Actor):
		return apperr.Fail(apperr.CodeStateConflict, "You proposed this already; another operator must confirm it.")
	case proposed.Reference != reference:
		return apperr.Fail(apperr.CodeStateConflict, "It was proposed with another reference; compare yours with the evidence, or lift the hold to withdraw the proposal.")
	}
	proposed.ConfirmedAt, proposed.ConfirmedBy = &tx.Now, new(tx.Actor.PersonID())
	if _, err := tx.NewUpdate().Model(proposed).Column("confirmed_at", "confirmed_by").WherePK().Exec(ctx); err != nil {
		return fmt.Errorf("confirm settlement: %w", err)
	}
	row.ProviderReference = &reference
	return cancelPayout(ctx, tx, claim, row, true)
}

// proposeSettlement records the first operator's proposal and holds the payout.
func proposeSettlement(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, reference string) error {
	proposal := &settlementRow{ID: store.NewID(), Partner: row.Partner, PayoutID: row.ID, Reference: reference, ProposedAt: tx.Now, ProposedBy: tx.Actor.PersonID()}
	if err := store.InsertRows(ctx, tx, proposal); err != nil || IsHeld(row) {
		return err
	}
	return holdPayout(ctx, tx, claim, row, claims.BlockedOperator)
}

// withdrawSettlement withdraws a proposal when its payout proceeds.
func withdrawSettlement(tx *store.Tx, row *claims.PayoutRow) {
	tx.Batch.Queue("update external_settlements set withdrawn_at = $1 where payout_id = $2 and partner = $3 and confirmed_at is null and withdrawn_at is null",
		tx.Now, row.ID, row.Partner)
}
