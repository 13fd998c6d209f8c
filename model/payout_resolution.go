package model

import (
	"context"
	"fmt"
	"slices"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// ResolutionRequest settles an uncertain payout by evidence from outside the rail's
// answers.
type ResolutionRequest struct {
	PayoutID string
	// Outcome is released or blocked for a payout in doubt: the rail paid it, or did
	// not. For a payout blocked by rail_mismatch it is cancelled.
	Outcome PayoutStatus
	// Reference is the rail's own name of the payment; required for released.
	Reference string
	// Settled states that the beneficiary has the whole amount of the cancelled payout;
	// if false, a replacement payout is created, which needs approval.
	Settled bool
	Note    string // the evidence, private
}

// ResolvePayout resolves a payout in doubt or with a mismatch. Each new order uses a
// new idempotency key: an unpaid payout is blocked as operator_hold, with a new key,
// until the hold is lifted; a mismatched one is cancelled, and its replacement needs
// approval. Operators only. Errors: not_found, validation_failed, state_conflict.
func (s *Service) ResolvePayout(ctx context.Context, actor actor.Actor, in ResolutionRequest) (*wire.Payout, error) {
	v := apperr.Validator{}
	released := in.Outcome == PayoutReleased
	v.Require(slices.Contains(ResolutionOutcomes(), in.Outcome), "/outcome", "enum", "Use released, blocked or cancelled.")
	v.Require(!released || in.Reference != "", "/reference", "required", "Give the rail's reference of the payment.")
	v.Require(released || in.Reference == "", "/reference", "not_allowed", "Only a released payout has a reference.")
	v.Require(len(in.Reference) <= maxRailReference && isStorableText(in.Reference), "/reference", "length", fmt.Sprintf("Use at most %d bytes.", maxRailReference))
	v.Require(!in.Settled || in.Outcome == PayoutCancelled, "/settled", "not_allowed", "Only a cancelled payout can be settled in another way.")
	return s.changePayoutAsOperator(ctx, actor, in.PayoutID, &in.Note, OperationResolvePayout, v.FieldErrors,
		func(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow) error {
			return resolvePayout(ctx, tx, claim, row, in)
		})
}

// ResolutionOutcomes lists what evidence can show: the rail paid, did not pay, or did
// something else.
func ResolutionOutcomes() []PayoutStatus {
	return []PayoutStatus{PayoutReleased, PayoutBlocked, PayoutCancelled}
}

// maxRailReference bounds a rail's payment reference, in bytes.
const maxRailReference = 255

func resolvePayout(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow, in ResolutionRequest) error {
	mismatch := row.Status == PayoutBlocked && *row.BlockedReason == BlockedRailMismatch
	switch {
	case row.Status == PayoutReconciling && in.Outcome == PayoutReleased:
		if err := setProviderFromLastAttempt(ctx, tx, row); err != nil {
			return err
		}
		row.ProviderReference, row.ReleasedAt, row.NextAttemptAt = &in.Reference, &tx.Now, nil
		return transitionPayout(ctx, tx, claim, row, PayoutReleased, fmt.Sprintf("The rail's evidence shows that the payout of %s was made (%s).", row.toMoney(), in.Reference))
	case row.Status == PayoutReconciling && in.Outcome == PayoutBlocked:
		return confirmUnpaid(ctx, tx, claim, row)
	case mismatch && in.Outcome == PayoutCancelled:
		if err := requireUnpaid(ctx, tx, row, in); err != nil {
			return err
		}
		return cancelPayout(ctx, tx, claim, row, in.Settled)
	case row.Status == PayoutReconciling:
		return apperr.Fail(apperr.CodeStateConflict, "Its outcome is unknown: resolve it as released when there is evidence that the rail paid, and as blocked when there is evidence that it did not.")
	case mismatch:
		return apperr.Fail(apperr.CodeStateConflict, "The rail made a payment that differs from the order: the payout can only be cancelled, as settled or to be paid again.")
	default:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; only one in doubt (reconciling) or blocked by rail_mismatch is resolved.", row.Status)
	}
}

// requireUnpaid refuses a replacement of a payout whose beneficiary has the money.
func requireUnpaid(ctx context.Context, tx *store.Tx, row *payoutRow, in ResolutionRequest) error {
	if in.Settled {
		return nil
	}
	arrived, err := hasArrived(ctx, tx, row)
	if err != nil {
		return err
	}
	if arrived {
		return apperr.Fail(apperr.CodeStateConflict, "The rail's report shows that the beneficiary has the whole amount: cancel it as settled, or reconcile the report that shows its return first.")
	}
	exceeded, err := hasExcess(ctx, tx, row, true)
	if err == nil && exceeded {
		err = apperr.Fail(apperr.CodeStateConflict, "The rail's report shows a payment under a key of the claim that is larger than its payout, so it may have paid this payout too: "+
			"find out what it paid, close its finding of kind amount (findings, closeFinding), then resolve the payout; or cancel it as settled.")
	}
	return err
}

// setProviderFromLastAttempt sets the payout's provider to the rail of the last call,
// whose reports cover the payout. A call without an answer has set none.
func setProviderFromLastAttempt(ctx context.Context, tx *store.Tx, row *payoutRow) error {
	if row.Provider != nil {
		return nil
	}
	last := new(attemptRow)
	err := tx.NewSelect().Model(last).Where("payout_id = ?", row.ID).Where("partner = ?", row.Partner).OrderExpr("number desc").Limit(1).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read attempt: %w", err)
	}
	row.Provider = &last.Rail
	return nil
}

// confirmUnpaid closes an idempotency key by evidence, like a definite refusal of the
// rail. It fails while an attempt may be running and when the rail accepted one.
func confirmUnpaid(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow) error {
	var calls []attemptRow
	err := tx.NewSelect().Model(&calls).Where("payout_id = ?", row.ID).Where("partner = ?", row.Partner).Where("key = ?", row.idempotencyKey()).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read attempts: %w", err)
	}
	for _, call := range calls {
		switch {
		case call.EndedAt == nil && call.StartedAt.Add(ReleaseLease).After(tx.Now):
			return apperr.Fail(apperr.CodeStateConflict, "The rail is being asked about this payout, which may be sent again under the same key; resolve it in a minute.")
		case call.Outcome != nil && *call.Outcome == string(OutcomeAccepted):
			return apperr.Fail(apperr.CodeStateConflict, "The rail accepted it in call %d (%s): ask the rail what it paid, and resolve the payout as released.", call.Number, stringOrEmpty(call.ProviderReference))
		}
	}
	_, err = tx.NewUpdate().Model((*attemptRow)(nil)).Set("outcome = ?", OutcomeRefused).Set("code = 'evidence'").Set("ended_at = coalesce(ended_at, ?)", tx.Now).
		Where("payout_id = ?", row.ID).Where("partner = ?", row.Partner).Where("key = ?", row.idempotencyKey()).Where("coalesce(outcome, 'unknown') = 'unknown'").Exec(ctx)
	if err != nil {
		return fmt.Errorf("finish attempts: %w", err)
	}
	row.IdempotencySeq++
	return blockPayout(ctx, tx, claim, row, BlockedOperator, methodChange{})
}

// cancelPayout cancels a payout. If its beneficiary has the money, the claim counts as
// paid; otherwise a replacement payout is created.
func cancelPayout(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow, settled bool) error {
	row.SettledExternally, row.NextAttemptAt = settled, nil
	summary := "The payout was cancelled; another payout replaces it."
	if settled {
		summary = "The payout was cancelled: the beneficiary was paid in another way."
	}
	if err := transitionPayout(ctx, tx, claim, row, PayoutCancelled, summary); err != nil {
		return err
	}
	if settled {
		return closeClaimIfPaid(ctx, tx, claim)
	}
	again, err := createReplacement(ctx, tx, claim, row)
	if err != nil {
		return err
	}
	return store.InsertRows(ctx, tx, again)
}

// createReplacement creates the payout that replaces a cancelled one: same debt, next
// idempotency key, approval required. The caller inserts the row.
func createReplacement(ctx context.Context, tx *store.Tx, claim *claimRow, row *payoutRow) (*payoutRow, error) {
	p, method, err := loadDestination(ctx, tx, claim, row)
	if err != nil {
		return nil, err
	}
	again := &payoutRow{
		RowHeader: tx.NewHeader(row.Partner), ClaimID: row.ClaimID, PolicyID: row.PolicyID, Status: PayoutPending, Installment: row.Installment,
		Amount: row.Amount, Currency: row.Currency, DebtDigest: debtDigest(claim, row.Installment), IdempotencySeq: row.IdempotencySeq + 1, ReplacesPayoutID: &row.ID,
	}
	return again, startPayout(tx, p, claim, again, method)
}

// closeClaimIfPaid closes an approved claim when everything it owes is paid and confirmed.
func closeClaimIfPaid(ctx context.Context, tx *store.Tx, claim *claimRow) error {
	var paying []*payoutRow
	err := tx.NewSelect().Model(&paying).Where("po.claim_id = ?", claim.ID).Where("po.partner = ?", claim.Partner).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read payouts: %w", err)
	}
	if claim.Status != ClaimApproved || !isFullyPaid(claim, paying) {
		return nil
	}
	parts, err := loadClaimRelations(ctx, tx, claim)
	if err != nil {
		return err
	}
	claim.ClosedAt = &tx.Now
	kind, err := store.ChangeStatus(ctx, tx, claim, ClaimTransitions, &claim.Status, ClaimClosed, "closed_at")
	if err != nil {
		return err
	}
	return recordClaimEvent(tx, claim, kind, parts, "Everything the claim owes is paid and confirmed; it is closed.")
}

// recordClaimEvent records an event about a claim's own status and its timeline entry.
func recordClaimEvent(tx *store.Tx, claim *claimRow, kind event.Type, parts claimRelations, summary string) error {
	event, err := tx.AppendEvent(kind, &claim.RowHeader, store.ResourceClaim, claim.toRecord(parts))
	if err != nil {
		return err
	}
	return appendTimeline(tx, claim, kind, &event, summary, map[string]any{"status": claim.Status, "amount": claim.toMoney(claim.Amount)})
}

// isFullyPaid reports whether the confirmed and externally settled payouts cover what
// the claim owes.
func isFullyPaid(claim *claimRow, payouts []*payoutRow) bool {
	var sum int64
	for _, row := range payouts {
		if row.Status == PayoutReconciled || row.SettledExternally {
			sum += row.Amount
		}
	}
	return claim.Amount != nil && sum == *claim.Amount
}
