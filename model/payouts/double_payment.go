package payouts

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// ExceptionPaidTwice is a payout of a claim whose occurrence was merged into another one
// that already paid the policy.
const ExceptionPaidTwice ReconciliationExceptionKind = "paid_twice"

// LockPayingPayouts locks the payouts of locked claims that paid or may pay, by claim.
func LockPayingPayouts(ctx context.Context, tx *store.Tx, claimRows []*claims.ClaimRow) (map[uuid.UUID][]*claims.PayoutRow, error) {
	ids := make([]uuid.UUID, len(claimRows))
	for i, c := range claimRows {
		ids[i] = c.ID
	}
	var rows []*claims.PayoutRow
	err := tx.NewSelect().Model(&rows).Where("po.claim_id in (?)", bun.List(ids)).
		Where("(po.status not in (?, ?) or po.settled_externally)", claims.PayoutReturned, claims.PayoutCancelled).OrderExpr("po.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock payouts: %w", err)
	}
	payouts := make(map[uuid.UUID][]*claims.PayoutRow)
	for _, row := range rows {
		tx.AdvanceClock(&row.RowHeader)
		payouts[row.ClaimID] = append(payouts[row.ClaimID], row)
	}
	return payouts, nil
}

// ReportPaidTwice opens the exception that a payout and the first one paid for the same loss.
func ReportPaidTwice(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, payout, first *claims.PayoutRow) error {
	row := &ExceptionRow{
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
	return HoldForCompliance(ctx, tx, claim, payout, DuplicateHeldSentence)
}

// DuplicateHeldSentence is the timeline sentence of a payout held for a double payment.
const DuplicateHeldSentence = "The payout is held: the claim's event was already paid by another claim."

// DuplicatesSQL selects the parts of claims that are not sent while an exception fi of kind
// paid_twice is open: the part of its payout, and that of the payout which it repeats if its
// own has left or may have. Payouts that replace each other are the same part. A condition
// follows.
const DuplicatesSQL = `select part.claim_id, part.installment from payouts duplicate
	join reconciliation_exceptions fi on fi.payout_id = duplicate.id and fi.partner = duplicate.partner and fi.kind = 'paid_twice' and fi.closed_at is null
	join payouts part on part.partner = duplicate.partner and part.id = any(array[duplicate.id, case when duplicate.settled_externally
		or duplicate.status in ('releasing', 'reconciling', 'released', 'reconciled') or duplicate.blocked_reason = 'rail_mismatch' then fi.related_payout_id end])
	where `

// isDuplicate reports whether the payout is of such a part. The first payout of a new part
// is not.
func isDuplicate(ctx context.Context, tx *store.Tx, row *claims.PayoutRow) (duplicate bool, err error) {
	if isNew(tx, row) && row.ReplacesPayoutID == nil {
		return false, nil
	}
	err = tx.NewRaw("select exists ("+DuplicatesSQL+"duplicate.policy_id = ? and part.claim_id = ? and part.installment = ?)", row.PolicyID, row.ClaimID, row.Installment).Scan(ctx, &duplicate)
	if err != nil {
		return false, fmt.Errorf("read double payments: %w", err)
	}
	return duplicate, nil
}

// HoldForCompliance holds a payout that was not sent and saves it. A payout that is at
// the rail, or that a rail reported as paid wrongly, is unchanged.
func HoldForCompliance(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, summary string) error {
	reason := claims.BlockedCompliance
	switch {
	case row.Status != claims.PayoutPending && row.Status != claims.PayoutBlocked:
		return nil
	case row.Status == claims.PayoutBlocked && (*row.BlockedReason == reason || *row.BlockedReason == claims.BlockedRailMismatch):
		return nil
	case row.Status == claims.PayoutBlocked && !IsHeld(row):
		row.PreviousBlockReason = row.BlockedReason
	}
	out := NewLockedPayout(claim, row)
	row.BlockedReason, row.NextAttemptAt = &reason, nil
	if row.Status == claims.PayoutPending {
		if err := TransitionPayoutInMemory(tx, claim, row, claims.PayoutBlocked, summary); err != nil {
			return err
		}
	} else {
		tx.BumpVersion(&row.RowHeader)
		if err := RecordPayoutEvent(tx, claim, row, LedgerTransfer(row), event.PayoutUpdated, summary); err != nil {
			return err
		}
	}
	if err := savePayout(ctx, tx, out); err != nil {
		return err
	}
	return claims.SaveTimelinePosition(ctx, tx, claim)
}

// ExceptionRow is a difference between a rail report and our payouts, or a payout that
// was made twice.
type ExceptionRow struct {
	bun.BaseModel `bun:"table:reconciliation_exceptions,alias:fi"`

	ID              uuid.UUID `bun:",pk,type:uuid"`
	CreatedAt       time.Time
	Kind            string
	Rail            *string    // nil if no rail is involved
	ReportID        *uuid.UUID `bun:"type:uuid"`
	Line            *int
	Partner         *string
	PolicyID        *uuid.UUID `bun:"type:uuid"`
	PayoutID        *uuid.UUID `bun:"type:uuid"`
	RelatedPayoutID *uuid.UUID `bun:"type:uuid"` // the earlier payout for the same event
	Detail          *string
	ClosedAt        *time.Time
	ClosedBy        *actor.PersonID
	ClosedReason    *string
}

// ReconciliationExceptionKind is the kind of a difference: the result of a report line,
// or a missing line.
type ReconciliationExceptionKind = string
