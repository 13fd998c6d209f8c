package model

import (
	"time"

	"github.com/google/uuid"
)

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
