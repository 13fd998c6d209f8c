package model

import (
	"time"

	"github.com/google/uuid"
)

// stepPayout moves a locked payout in memory and tells it; keepPayouts writes it.
func (u *unit) stepPayout(claim *claimRow, row *payoutRow, to PayoutStatus, summary string) error {
	if to != PayoutBlocked {
		row.BlockedReason, row.HeldOver = nil, nil
	}
	was := row.stands()
	event, err := step(u, &row.header, PayoutArrows, &row.Status, to)
	if err != nil {
		return err
	}
	return u.sayPayout(claim, row, was, event, summary)
}

// blockLocked moves a locked payout to blocked in memory, or changes why it is.
func (u *unit) blockLocked(claim *claimRow, row *payoutRow, reason BlockedReason) error {
	return u.blockChanged(claim, row, reason, methodChange{})
}

// blockChanged is blockLocked for a payout whose method may have changed.
func (u *unit) blockChanged(claim *claimRow, row *payoutRow, reason BlockedReason, change methodChange) error {
	was := row.BlockedReason
	row.BlockedReason, row.NextAttemptAt = &reason, nil
	if !row.held() {
		row.HeldOver = nil
	}
	summary := blockedSentence(reason) + change.sentence
	switch {
	case row.Status != PayoutBlocked:
		return u.stepPayout(claim, row, PayoutBlocked, summary)
	case was != nil && *was == reason && !change.made:
		return nil
	default:
		u.touch(&row.header)
		return u.sayPayout(claim, row, row.stands(), EventPayoutUpdated, summary)
	}
}

// keepPayouts writes what changed of locked payouts, and how far their claims'
// stories have come, in two statements however many they are. A row that is not
// as it was read is a conflict.
func (u *unit) keepPayouts(slice []outgoing) {
	n := len(slice)
	ids, claims, told := make([]uuid.UUID, 0, n), make([]uuid.UUID, 0, n), make(map[uuid.UUID]bool, n)
	partners, owners, from, status := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	reasons, held, providers, references := make([]*string, 0, n), make([]*string, 0, n), make([]*string, 0, n), make([]*string, 0, n)
	was, versions, sequences := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	attempts, keys := make([]int, 0, n), make([]int, 0, n)
	due, released, reconciled := make([]*time.Time, 0, n), make([]*time.Time, 0, n), make([]*time.Time, 0, n)
	for _, out := range slice {
		row := out.row
		if row.Version == out.was {
			continue
		}
		ids, partners = append(ids, row.ID), append(partners, row.Partner)
		was, from, status = append(was, out.was), append(from, string(out.from)), append(status, string(row.Status))
		versions = append(versions, row.Version)
		reasons, held = append(reasons, (*string)(row.BlockedReason)), append(held, (*string)(row.HeldOver))
		attempts, keys, due = append(attempts, row.Attempts), append(keys, row.KeyNumber), append(due, row.NextAttemptAt)
		providers, references = append(providers, row.Provider), append(references, row.ProviderReference)
		released, reconciled = append(released, row.ReleasedAt), append(reconciled, row.ReconciledAt)
		if !told[row.ClaimID] {
			told[row.ClaimID] = true
			claims, owners, sequences = append(claims, row.ClaimID), append(owners, row.Partner), append(sequences, out.claim.TimelineSequence)
		}
	}
	if len(ids) == 0 {
		return
	}
	u.queueGuarded(len(ids), `update payouts as po set version = n.version, updated_at = $1, status = n.status, blocked_reason = n.reason, held_over = n.held,
			attempts = n.attempts, key_number = n.key_number, next_attempt_at = n.due, provider = n.provider,
			provider_reference = n.reference, released_at = n.released, reconciled_at = n.reconciled
		from unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::int[], $10::int[],
			$11::timestamptz[], $12::text[], $13::text[], $14::timestamptz[], $15::timestamptz[], $16::bigint[])
			as n (id, partner, was, was_in, status, reason, held, attempts, key_number, due, provider, reference, released, reconciled, version)
		where po.id = n.id and po.partner = n.partner and po.version = n.was and po.status = n.was_in`,
		u.now, ids, partners, was, from, status, reasons, held, attempts, keys, due, providers, references, released, reconciled, versions)
	u.later.Queue(`update claims as c set timeline_sequence = n.sequence, told_at = $1
		from unnest($2::uuid[], $3::text[], $4::bigint[]) as n (id, partner, sequence)
		where c.id = n.id and c.partner = n.partner`, u.now, claims, owners, sequences)
}

// keepAttempts writes the intents of orders; with their answers, when the rail has
// answered in the same transaction.
func (u *unit) keepAttempts(to recipient, orders []*Release, answers []RailAnswer) {
	n := len(orders)
	ids, partners, numbers, keys := make([]uuid.UUID, n), make([]string, n), make([]int, n), make([]string, n)
	ended, outcomes, codes, references := make([]*time.Time, n), make([]*string, n), make([]*string, n), make([]*string, n)
	for i, order := range orders {
		ids[i], _ = nounPayout.parse(order.PayoutID) // it was made of one
		partners[i], numbers[i], keys[i] = order.Partner, order.Attempt, order.Key
		if answers != nil {
			ended[i], outcomes[i], codes[i], references[i] = &u.now, new(answers[i].evidence()), textOrNil(answers[i].Code), textOrNil(answers[i].Reference)
		}
	}
	u.later.Queue(`insert into payout_attempts (payout_id, partner, number, key, ended_at, outcome, code, provider_reference, rail, rail_identity, started_at)
		select n.*, $9, $10, $11 from unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[]) as n`,
		ids, partners, numbers, keys, ended, outcomes, codes, references, to.rail, textOrNil(to.bank), u.now)
}

// endAttempt writes what a call brought. What is definite stands above doubt, also
// when it comes later: without its refusal on record a key would seem to be given up
// for another.
func (u *unit) endAttempt(payout uuid.UUID, order *Release, answer RailAnswer) {
	u.later.Queue(`update payout_attempts set ended_at = $1, outcome = $5, code = $6, provider_reference = $7
		where payout_id = $2 and partner = $3 and number = $4 and (ended_at is null or outcome = 'unknown' and $5 <> 'unknown')`,
		u.now, payout, order.Partner, order.Attempt, answer.evidence(), textOrNil(answer.Code), textOrNil(answer.Reference))
}
