package model

import (
	"time"

	"github.com/google/uuid"
)

// transitionPayoutInMemory changes the status of a locked payout in memory and records
// the event; savePayouts writes the row.
func (tx *Tx) transitionPayoutInMemory(claim *claimRow, row *payoutRow, to PayoutStatus, summary string) error {
	if to != PayoutBlocked {
		row.BlockedReason, row.PreviousBlockReason = nil, nil
	}
	was := row.ledgerTransfer()
	event, err := transitionInMemory(tx, &row.RowHeader, PayoutTransitions, &row.Status, to)
	if err != nil {
		return err
	}
	return tx.recordPayoutEvent(claim, row, was, event, summary)
}

// blockPayoutInMemory blocks a locked payout in memory, or changes the reason of a
// blocked one.
func (tx *Tx) blockPayoutInMemory(claim *claimRow, row *payoutRow, reason BlockedReason) error {
	return tx.blockWithMethodChange(claim, row, reason, methodChange{})
}

// blockWithMethodChange is blockPayoutInMemory for a payout whose method may have
// changed.
func (tx *Tx) blockWithMethodChange(claim *claimRow, row *payoutRow, reason BlockedReason, change methodChange) error {
	was := row.BlockedReason
	row.BlockedReason, row.NextAttemptAt = &reason, nil
	if !row.isHeld() {
		row.PreviousBlockReason = nil
	}
	summary := blockedSentence(reason) + change.sentence
	switch {
	case row.Status != PayoutBlocked:
		return tx.transitionPayoutInMemory(claim, row, PayoutBlocked, summary)
	case was != nil && *was == reason && !change.changed:
		return nil
	default:
		tx.bumpVersion(&row.RowHeader)
		return tx.recordPayoutEvent(claim, row, row.ledgerTransfer(), EventPayoutUpdated, summary)
	}
}

// savePayouts writes the changes of locked payouts, and the timeline positions of their
// claims, in two statements for any number of payouts. A row that changed since it was
// read is a conflict.
func (tx *Tx) savePayouts(slice []lockedPayout) {
	n := len(slice)
	ids, claims, saved := make([]uuid.UUID, 0, n), make([]uuid.UUID, 0, n), make(map[uuid.UUID]bool, n)
	partners, owners, from, status := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	reasons, held, providers, references := make([]*string, 0, n), make([]*string, 0, n), make([]*string, 0, n), make([]*string, 0, n)
	was, versions, sequences := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	attempts, keys := make([]int, 0, n), make([]int, 0, n)
	due, released, reconciled := make([]*time.Time, 0, n), make([]*time.Time, 0, n), make([]*time.Time, 0, n)
	for _, out := range slice {
		row := out.row
		if row.Version == out.version {
			continue
		}
		ids, partners = append(ids, row.ID), append(partners, row.Partner)
		was, from, status = append(was, out.version), append(from, string(out.status)), append(status, string(row.Status))
		versions = append(versions, row.Version)
		reasons, held = append(reasons, (*string)(row.BlockedReason)), append(held, (*string)(row.PreviousBlockReason))
		attempts, keys, due = append(attempts, row.Attempts), append(keys, row.IdempotencySeq), append(due, row.NextAttemptAt)
		providers, references = append(providers, row.Provider), append(references, row.ProviderReference)
		released, reconciled = append(released, row.ReleasedAt), append(reconciled, row.ReconciledAt)
		if !saved[row.ClaimID] {
			saved[row.ClaimID] = true
			claims, owners, sequences = append(claims, row.ClaimID), append(owners, row.Partner), append(sequences, out.claim.TimelineSequence)
		}
	}
	if len(ids) == 0 {
		return
	}
	tx.queueGuarded(len(ids), `update payouts as po set version = n.version, updated_at = $1, status = n.status, blocked_reason = n.reason, previous_block_reason = n.held,
			attempts = n.attempts, idempotency_seq = n.idempotency_seq, next_attempt_at = n.due, provider = n.provider,
			provider_reference = n.reference, released_at = n.released, reconciled_at = n.reconciled
		from unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::int[],
			$11::timestamptz[], $12::text[], $13::text[], $14::timestamptz[], $15::timestamptz[], $16::bigint[])
			as n (id, partner, was, was_in, status, reason, held, attempts, idempotency_seq, due, provider, reference, released, reconciled, version)
		where po.id = n.id and po.partner = n.partner and po.version = n.was and po.status = n.was_in`,
		tx.now, ids, partners, was, from, status, reasons, held, attempts, keys, due, providers, references, released, reconciled, versions)
	tx.batch.Queue(`update claims as c set timeline_sequence = n.sequence, timeline_updated_at = $1
		from unnest($2::uuid[], $3::text[], $4::bigint[]) as n (id, partner, sequence)
		where c.id = n.id and c.partner = n.partner`, tx.now, claims, owners, sequences)
}

// saveAttempts writes the intents of orders, with the rail's answers if they arrived in
// the same transaction.
func (tx *Tx) saveAttempts(to recipient, orders []*Release, answers []RailAnswer) {
	n := len(orders)
	ids, partners, numbers, keys := make([]uuid.UUID, n), make([]string, n), make([]int, n), make([]string, n)
	ended, outcomes, codes, references := make([]*time.Time, n), make([]*string, n), make([]*string, n), make([]*string, n)
	for i, order := range orders {
		ids[i], _ = resourcePayout.parseID(order.PayoutID) // formatted from a valid id
		partners[i], numbers[i], keys[i] = order.Partner, order.Attempt, order.Key
		if answers != nil {
			ended[i], outcomes[i], codes[i], references[i] = &tx.now, new(answers[i].attemptOutcome()), stringOrNil(answers[i].Code), stringOrNil(answers[i].Reference)
		}
	}
	tx.batch.Queue(`insert into payout_attempts (payout_id, partner, number, key, ended_at, outcome, code, provider_reference, rail, rail_identity, started_at)
		select n.*, $9, $10, $11 from unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[]) as n`,
		ids, partners, numbers, keys, ended, outcomes, codes, references, to.rail, stringOrNil(to.bank), tx.now)
}

// endAttempt writes the result of a call. A definite result replaces an unknown one,
// also when it arrives later: without its recorded refusal, the key would look
// superseded.
func (tx *Tx) endAttempt(payout uuid.UUID, order *Release, answer RailAnswer) {
	tx.batch.Queue(`update payout_attempts set ended_at = $1, outcome = $5, code = $6, provider_reference = $7
		where payout_id = $2 and partner = $3 and number = $4 and (ended_at is null or outcome = 'unknown' and $5 <> 'unknown')`,
		tx.now, payout, order.Partner, order.Attempt, answer.attemptOutcome(), stringOrNil(answer.Code), stringOrNil(answer.Reference))
}
