package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// ExceptionPaidTwice is a payout of a claim whose occurrence was merged into another one
// that already paid the policy.
const ExceptionPaidTwice ReconciliationExceptionKind = "paid_twice"

// lockPayingPayouts locks the payouts of locked claims that paid or may pay, by claim.
func lockPayingPayouts(ctx context.Context, tx *store.Tx, claims []*claimRow) (map[uuid.UUID][]*payoutRow, error) {
	ids := make([]uuid.UUID, len(claims))
	for i, c := range claims {
		ids[i] = c.ID
	}
	var rows []*payoutRow
	err := tx.NewSelect().Model(&rows).Where("po.claim_id in (?)", bun.List(ids)).
		Where("(po.status not in (?, ?) or po.settled_externally)", PayoutReturned, PayoutCancelled).OrderExpr("po.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock payouts: %w", err)
	}
	payouts := make(map[uuid.UUID][]*payoutRow)
	for _, row := range rows {
		tx.AdvanceClock(&row.RowHeader)
		payouts[row.ClaimID] = append(payouts[row.ClaimID], row)
	}
	return payouts, nil
}

func reportPaidTwice(ctx context.Context, tx *store.Tx, claim *claimRow, payout, first *payoutRow) error {
	row := &exceptionRow{
		ID: store.NewID(), CreatedAt: tx.Now, Kind: ExceptionPaidTwice, Rail: payout.Provider,
		Partner: &payout.Partner, PolicyID: &payout.PolicyID, PayoutID: &payout.ID, RelatedPayoutID: &first.ID,
	}
	done, err := tx.NewInsert().Model(row).On("conflict (payout_id, partner) where kind = 'paid_twice' do nothing").Exec(ctx)
	if err != nil {
		return fmt.Errorf("insert exception: %w", err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return holdForCompliance(ctx, tx, claim, payout, "The payout is held: the claim's event was already paid by another claim.")
}

// holdForCompliance holds a payout that was not sent and saves it. A payout that is at
// the rail, or that a rail reported as paid wrongly, is unchanged.
func holdForCompliance(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow, summary string) error {
	reason := BlockedCompliance
	switch {
	case row.Status != PayoutPending && row.Status != PayoutBlocked:
		return nil
	case row.Status == PayoutBlocked && (*row.BlockedReason == reason || *row.BlockedReason == BlockedRailMismatch):
		return nil
	case row.Status == PayoutBlocked && !row.isHeld():
		row.PreviousBlockReason = row.BlockedReason
	}
	out := newLockedPayout(claim, row)
	row.BlockedReason, row.NextAttemptAt = &reason, nil
	if row.Status == PayoutPending {
		if err := transitionPayoutInMemory(tx, claim, row, PayoutBlocked, summary); err != nil {
			return err
		}
	} else {
		tx.BumpVersion(&row.RowHeader)
		if err := recordPayoutEvent(tx, claim, row, row.ledgerTransfer(), event.PayoutUpdated, summary); err != nil {
			return err
		}
	}
	if err := savePayout(ctx, tx, out); err != nil {
		return err
	}
	return saveTimelinePosition(ctx, tx, claim)
}
