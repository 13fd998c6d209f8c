package payouts

import (
	"context"
	"fmt"
	"slices"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// ResolutionRequest settles an uncertain payout by evidence from outside the rail's
// answers.
type ResolutionRequest struct {
	PayoutID string
	// Outcome is released or blocked for a payout in doubt: the rail paid it, or did
	// not. For a payout blocked by rail_mismatch it is cancelled.
	Outcome claims.PayoutStatus
	// Reference is the rail's own name of the payment; required for released.
	Reference string
	// Settled states that the beneficiary has the whole amount of the cancelled payout;
	// if false, a replacement payout is created, which needs approval.
	Settled bool
	Note    string // the evidence, private
}

// Resolve resolves a payout in doubt or with a mismatch. Each new order uses a
// new idempotency key: an unpaid payout is blocked as operator_hold, with a new key,
// until the hold is lifted; a mismatched one is cancelled, and its replacement needs
// approval. Operators only. Errors: not_found, validation_failed, state_conflict.
func (s *Service) Resolve(ctx context.Context, actor actor.Actor, in ResolutionRequest) (*wire.Payout, error) {
	v := apperr.Validator{}
	released := in.Outcome == claims.PayoutReleased
	v.Require(slices.Contains(ResolutionOutcomes(), in.Outcome), "/outcome", "enum", "Use released, blocked or cancelled.")
	v.Require(!released || in.Reference != "", "/reference", "required", "Give the rail's reference of the payment.")
	v.Require(released || in.Reference == "", "/reference", "not_allowed", "Only a released payout has a reference.")
	v.Require(len(in.Reference) <= MaxRailReference && audit.IsStorableText(in.Reference), "/reference", "length", fmt.Sprintf("Use at most %d bytes.", MaxRailReference))
	v.Require(!in.Settled || in.Outcome == claims.PayoutCancelled, "/settled", "not_allowed", "Only a cancelled payout can be settled in another way.")
	return s.changePayoutAsOperator(ctx, actor, in.PayoutID, &in.Note, audit.OperationResolvePayout, v.FieldErrors,
		func(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
			return resolvePayout(ctx, tx, claim, row, in)
		})
}

// CancelUnsent cancels a payout that no rail has, as settled in another way, so that its
// claim closes: a sandbox that is reset owes nothing any more. Operators and the system only,
// on rehearsal servers. Errors: not_found, state_conflict.
func (s *Service) CancelUnsent(ctx context.Context, caller actor.Actor, id, note string) (*wire.Payout, error) {
	if !s.Development {
		return nil, apperr.Fail(apperr.CodeStateConflict, "Payouts are cancelled without evidence on rehearsal servers only.")
	}
	return s.changePayoutAsOperator(ctx, caller, id, &note, audit.OperationResolvePayout, nil,
		func(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
			if row.Status != claims.PayoutPending && row.Status != claims.PayoutBlocked {
				return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; only one that waits is cancelled.", row.Status)
			}
			return cancelPayout(ctx, tx, claim, row, true)
		})
}

// ResolutionOutcomes lists what evidence can show: the rail paid, did not pay, or did
// something else.
func ResolutionOutcomes() []claims.PayoutStatus {
	return []claims.PayoutStatus{claims.PayoutReleased, claims.PayoutBlocked, claims.PayoutCancelled}
}

// MaxRailReference bounds a rail's payment reference, in bytes.
const MaxRailReference = 255

func resolvePayout(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, in ResolutionRequest) error {
	mismatch := row.Status == claims.PayoutBlocked && *row.BlockedReason == claims.BlockedRailMismatch
	switch {
	case row.Status == claims.PayoutReconciling && in.Outcome == claims.PayoutReleased:
		if err := setProviderFromLastAttempt(ctx, tx, row); err != nil {
			return err
		}
		row.ProviderReference, row.ReleasedAt, row.NextAttemptAt = &in.Reference, &tx.Now, nil
		return transitionPayout(ctx, tx, claim, row, claims.PayoutReleased, fmt.Sprintf("The rail's evidence shows that the payout of %s was made (%s).", row.ToMoney(), in.Reference))
	case row.Status == claims.PayoutReconciling && in.Outcome == claims.PayoutBlocked:
		return confirmUnpaid(ctx, tx, claim, row)
	case mismatch && in.Outcome == claims.PayoutCancelled:
		if err := requireUnpaid(ctx, tx, row, in); err != nil {
			return err
		}
		return cancelPayout(ctx, tx, claim, row, in.Settled)
	case row.Status == claims.PayoutReconciling:
		return apperr.Fail(apperr.CodeStateConflict, "Its outcome is unknown: resolve it as released when there is evidence that the rail paid, and as blocked when there is evidence that it did not.")
	case mismatch:
		return apperr.Fail(apperr.CodeStateConflict, "The rail made a payment that differs from the order: the payout can only be cancelled, as settled or to be paid again.")
	default:
		return apperr.Fail(apperr.CodeStateConflict, "The payout is %s; only one in doubt (reconciling) or blocked by rail_mismatch is resolved.", row.Status)
	}
}

// requireUnpaid refuses a replacement of a payout whose beneficiary has the money.
func requireUnpaid(ctx context.Context, tx *store.Tx, row *claims.PayoutRow, in ResolutionRequest) error {
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
			"find out what it paid, close its exception of kind amount (reconciliationExceptions, closeReconciliationException), then resolve the payout; or cancel it as settled.")
	}
	return err
}

// setProviderFromLastAttempt sets the payout's provider to the rail of the last call,
// whose reports cover the payout. A call without an answer has set none.
func setProviderFromLastAttempt(ctx context.Context, tx *store.Tx, row *claims.PayoutRow) error {
	if row.Provider != nil {
		return nil
	}
	last := new(AttemptRow)
	err := tx.NewSelect().Model(last).Where("payout_id = ?", row.ID).Where("partner = ?", row.Partner).OrderExpr("number desc").Limit(1).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read attempt: %w", err)
	}
	row.Provider = &last.Rail
	return nil
}

// confirmUnpaid closes an idempotency key by evidence, like a definite refusal of the
// rail. It fails while an attempt may be running and when the rail accepted one.
func confirmUnpaid(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) error {
	var calls []AttemptRow
	err := tx.NewSelect().Model(&calls).Where("payout_id = ?", row.ID).Where("partner = ?", row.Partner).Where("key = ?", IdempotencyKey(row)).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read attempts: %w", err)
	}
	for _, call := range calls {
		switch {
		case call.EndedAt == nil && call.StartedAt.Add(ReleaseLease).After(tx.Now):
			return apperr.Fail(apperr.CodeStateConflict, "The rail is being asked about this payout, which may be sent again under the same key; resolve it in a minute.")
		case call.Outcome != nil && *call.Outcome == string(OutcomeAccepted):
			return apperr.Fail(apperr.CodeStateConflict, "The rail accepted it in call %d (%s): ask the rail what it paid, and resolve the payout as released.", call.Number, optional.OrZero(call.ProviderReference))
		}
	}
	_, err = tx.NewUpdate().Model((*AttemptRow)(nil)).Set("outcome = ?", OutcomeRefused).Set("code = 'evidence'").Set("ended_at = coalesce(ended_at, ?)", tx.Now).
		Where("payout_id = ?", row.ID).Where("partner = ?", row.Partner).Where("key = ?", IdempotencyKey(row)).Where("coalesce(outcome, 'unknown') = 'unknown'").Exec(ctx)
	if err != nil {
		return fmt.Errorf("finish attempts: %w", err)
	}
	row.IdempotencySeq++
	return blockPayout(ctx, tx, claim, row, claims.BlockedOperator, methodChange{})
}

// cancelPayout cancels a payout. If its beneficiary has the money, the claim counts as
// paid; otherwise a replacement payout is created.
func cancelPayout(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, settled bool) error {
	row.SettledExternally, row.NextAttemptAt = settled, nil
	summary := "The payout was cancelled; another payout replaces it."
	if settled {
		summary = "The payout was cancelled: the beneficiary was paid in another way."
	}
	if err := transitionPayout(ctx, tx, claim, row, claims.PayoutCancelled, summary); err != nil {
		return err
	}
	if settled {
		return closeClaimIfPaid(ctx, tx, claim)
	}
	again, err := CreateReplacement(ctx, tx, claim, row)
	if err != nil {
		return err
	}
	return store.InsertRows(ctx, tx, again)
}

// CreateReplacement creates the payout that replaces a cancelled one: same debt, next
// idempotency key, approval required. The caller inserts the row.
func CreateReplacement(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow) (*claims.PayoutRow, error) {
	p, method, err := LoadDestination(ctx, tx, claim, row)
	if err != nil {
		return nil, err
	}
	again := &claims.PayoutRow{
		RowHeader: tx.NewHeader(row.Partner), ClaimID: row.ClaimID, PolicyID: row.PolicyID, Status: claims.PayoutPending, Installment: row.Installment,
		Amount: row.Amount, Currency: row.Currency, DebtDigest: DebtDigest(claim, row.Installment), IdempotencySeq: row.IdempotencySeq + 1, ReplacesPayoutID: &row.ID,
	}
	return again, StartPayout(tx, p, claim, again, method)
}

// closeClaimIfPaid closes an approved claim when everything it owes is paid and confirmed.
func closeClaimIfPaid(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow) error {
	var paying []*claims.PayoutRow
	err := tx.NewSelect().Model(&paying).Where("po.claim_id = ?", claim.ID).Where("po.partner = ?", claim.Partner).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read payouts: %w", err)
	}
	if claim.Status != claims.ClaimApproved || !IsFullyPaid(claim, paying) {
		return nil
	}
	parts, err := claims.LoadClaimRelations(ctx, tx, claim)
	if err != nil {
		return err
	}
	claim.ClosedAt = &tx.Now
	kind, err := store.ChangeStatus(ctx, tx, claim, claims.ClaimTransitions, &claim.Status, claims.ClaimClosed, "closed_at")
	if err != nil {
		return err
	}
	return RecordClaimEvent(tx, claim, kind, parts, "Everything the claim owes is paid and confirmed; it is closed.")
}

// RecordClaimEvent records an event about a claim's own status and its timeline entry.
func RecordClaimEvent(tx *store.Tx, claim *claims.ClaimRow, kind event.Type, parts claims.ClaimRelations, summary string) error {
	event, err := tx.AppendEvent(kind, &claim.RowHeader, store.ResourceClaim, claim.ToRecord(parts))
	if err != nil {
		return err
	}
	return claims.AppendTimeline(tx, claim, kind, &event, summary, map[string]any{"status": claim.Status, "amount": claim.ToMoney(claim.Amount)})
}

// IsFullyPaid reports whether the confirmed and externally settled payouts cover what
// the claim owes.
func IsFullyPaid(claim *claims.ClaimRow, payouts []*claims.PayoutRow) bool {
	var sum int64
	for _, row := range payouts {
		if row.Status == claims.PayoutReconciled || row.SettledExternally {
			sum += row.Amount
		}
	}
	return claim.Amount != nil && sum == *claim.Amount
}
