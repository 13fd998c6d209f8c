package payouts

import (
	"context"
	"time"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
	"parapet/model/wire"
)

// RecordPayoutEvent records an event, its entry in the claim's timeline and the ledger
// postings for the change since was.
func RecordPayoutEvent(tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, was ledger.Transfer, kind event.Type, summary string) error {
	public := row.ToRecord()
	event, err := tx.AppendEvent(kind, &row.RowHeader, store.ResourcePayout, public)
	if err != nil {
		return err
	}
	postPayout(tx, event, row, was)
	return claims.AppendTimeline(tx, claim, kind, &event, summary, &wire.PayoutData{
		Amount: public.Amount, BlockedReason: public.BlockedReason, PayoutID: public.ID, ProviderReference: public.ProviderReference, Status: public.Status,
	})
}

// transitionPayout changes the status of a locked payout and records the event; the
// caller writes the claim's timeline position.
func transitionPayout(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, to claims.PayoutStatus, summary string) error {
	out := NewLockedPayout(claim, row)
	if err := TransitionPayoutInMemory(tx, claim, row, to, summary); err != nil {
		return err
	}
	return savePayout(ctx, tx, out)
}

// blockPayout blocks a payout, or changes the reason of a blocked one.
func blockPayout(ctx context.Context, tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, reason claims.BlockedReason, change methodChange) error {
	out := NewLockedPayout(claim, row)
	if err := blockWithMethodChange(tx, claim, row, reason, change); err != nil || row.Version == out.Version {
		return err
	}
	return savePayout(ctx, tx, out)
}

func savePayout(ctx context.Context, tx *store.Tx, out LockedPayout) error {
	return tx.UpdateRow(ctx, out.Row, out.Version, []string{string(out.status)}, "status", "blocked_reason", "previous_block_reason", "payout_method_id", "attempts",
		"idempotency_seq", "next_attempt_at", "provider", "provider_reference", "released_at", "reconciled_at",
		"approvals_needed", "settled_externally", "version", "updated_at")
}

// BlockedSentence says what a blocked payout waits for.
func BlockedSentence(reason claims.BlockedReason) string {
	return map[claims.BlockedReason]string{
		claims.BlockedMethodMissing:    "The payout waits for a payout method; record one.",
		claims.BlockedMethodUnverified: "The payout waits until its payout method is verified.",
		claims.BlockedApproval:         "The payout waits for an operator's approval.",
		claims.BlockedRailRejected:     "The rail refused the payout; record another payout method.",
		claims.BlockedRailMismatch:     "The rail reports a payment that differs from the order; an operator investigates.",
		claims.BlockedCompliance:       "The payout is held by compliance.",
		claims.BlockedOperator:         "The payout is held by an operator.",
	}[reason]
}

// TransitionPayoutInMemory changes the status of a locked payout in memory and records
// the event; SavePayouts writes the row.
func TransitionPayoutInMemory(tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, to claims.PayoutStatus, summary string) error {
	if to != claims.PayoutBlocked {
		row.BlockedReason, row.PreviousBlockReason = nil, nil
	}
	was := LedgerTransfer(row)
	event, err := store.ChangeStatusInMemory(tx, &row.RowHeader, claims.PayoutTransitions, &row.Status, to)
	if err != nil {
		return err
	}
	return RecordPayoutEvent(tx, claim, row, was, event, summary)
}

// BlockPayoutInMemory blocks a locked payout in memory, or changes the reason of a
// blocked one.
func BlockPayoutInMemory(tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, reason claims.BlockedReason) error {
	return blockWithMethodChange(tx, claim, row, reason, methodChange{})
}

// blockWithMethodChange is BlockPayoutInMemory for a payout whose method may have
// changed.
func blockWithMethodChange(tx *store.Tx, claim *claims.ClaimRow, row *claims.PayoutRow, reason claims.BlockedReason, change methodChange) error {
	was := row.BlockedReason
	row.BlockedReason, row.NextAttemptAt = &reason, nil
	if !IsHeld(row) {
		row.PreviousBlockReason = nil
	}
	summary := BlockedSentence(reason) + change.sentence
	switch {
	case row.Status != claims.PayoutBlocked:
		return TransitionPayoutInMemory(tx, claim, row, claims.PayoutBlocked, summary)
	case was != nil && *was == reason && !change.changed:
		return nil
	default:
		tx.BumpVersion(&row.RowHeader)
		return RecordPayoutEvent(tx, claim, row, LedgerTransfer(row), event.PayoutUpdated, summary)
	}
}

// SavePayouts writes the changes of locked payouts, and the timeline positions of their
// claims, in two statements for any number of payouts. A row that changed since it was
// read is a conflict.
func SavePayouts(tx *store.Tx, slice []LockedPayout) {
	n := len(slice)
	ids, claims, saved := make([]uuid.UUID, 0, n), make([]uuid.UUID, 0, n), make(map[uuid.UUID]bool, n)
	partners, owners, from, status := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	reasons, held, providers, references := make([]*string, 0, n), make([]*string, 0, n), make([]*string, 0, n), make([]*string, 0, n)
	was, versions, sequences := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	attempts, keys := make([]int, 0, n), make([]int, 0, n)
	due, released, reconciled := make([]*time.Time, 0, n), make([]*time.Time, 0, n), make([]*time.Time, 0, n)
	for _, out := range slice {
		row := out.Row
		if row.Version == out.Version {
			continue
		}
		ids, partners = append(ids, row.ID), append(partners, row.Partner)
		was, from, status = append(was, out.Version), append(from, string(out.status)), append(status, string(row.Status))
		versions = append(versions, row.Version)
		reasons, held = append(reasons, (*string)(row.BlockedReason)), append(held, (*string)(row.PreviousBlockReason))
		attempts, keys, due = append(attempts, row.Attempts), append(keys, row.IdempotencySeq), append(due, row.NextAttemptAt)
		providers, references = append(providers, row.Provider), append(references, row.ProviderReference)
		released, reconciled = append(released, row.ReleasedAt), append(reconciled, row.ReconciledAt)
		if !saved[row.ClaimID] {
			saved[row.ClaimID] = true
			claims, owners, sequences = append(claims, row.ClaimID), append(owners, row.Partner), append(sequences, out.Claim.TimelineSequence)
		}
	}
	if len(ids) == 0 {
		return
	}
	tx.QueueGuarded(len(ids), `update payouts as po set version = n.version, updated_at = $1, status = n.status, blocked_reason = n.reason, previous_block_reason = n.held,
			attempts = n.attempts, idempotency_seq = n.idempotency_seq, next_attempt_at = n.due, provider = n.provider,
			provider_reference = n.reference, released_at = n.released, reconciled_at = n.reconciled
		from unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::int[],
			$11::timestamptz[], $12::text[], $13::text[], $14::timestamptz[], $15::timestamptz[], $16::bigint[])
			as n (id, partner, was, was_in, status, reason, held, attempts, idempotency_seq, due, provider, reference, released, reconciled, version)
		where po.id = n.id and po.partner = n.partner and po.version = n.was and `+store.GuardedStatusSQL("po.status")+` = n.was_in`,
		tx.Now, ids, partners, was, from, status, reasons, held, attempts, keys, due, providers, references, released, reconciled, versions)
	tx.Batch.Queue(`update claims as c set timeline_sequence = n.sequence, timeline_updated_at = $1
		from unnest($2::uuid[], $3::text[], $4::bigint[]) as n (id, partner, sequence)
		where c.id = n.id and c.partner = n.partner`, tx.Now, claims, owners, sequences)
}
