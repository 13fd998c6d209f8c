package release

import (
	"time"

	"github.com/google/uuid"

	"parapet/model/kernel/optional"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// SaveAttempts writes the intents of orders, with the rail's answers if they arrived in
// the same transaction.
func SaveAttempts(tx *store.Tx, to payouts.Recipient, orders []*Release, answers []payouts.RailAnswer) {
	n := len(orders)
	ids, partners, numbers, keys := make([]uuid.UUID, n), make([]string, n), make([]int, n), make([]string, n)
	ended, outcomes, codes, references := make([]*time.Time, n), make([]*string, n), make([]*string, n), make([]*string, n)
	for i, order := range orders {
		ids[i], _ = store.ResourcePayout.ParseID(order.PayoutID) // formatted from a valid id
		partners[i], numbers[i], keys[i] = order.Partner, order.Attempt, order.Key
		if answers != nil {
			ended[i], outcomes[i], codes[i], references[i] = &tx.Now, new(answers[i].AttemptOutcome()), optional.NonZero(answers[i].Code), optional.NonZero(answers[i].Reference)
		}
	}
	tx.Batch.Queue(`insert into payout_attempts (payout_id, partner, number, key, ended_at, outcome, code, provider_reference, rail, rail_identity, started_at)
		select n.*, $9, $10, $11 from unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[]) as n`,
		ids, partners, numbers, keys, ended, outcomes, codes, references, to.Rail, optional.NonZero(to.Bank), tx.Now)
}

// endAttempts writes the results of calls. A definite result replaces an unknown one,
// also when it arrives later: without its recorded refusal, the key would look
// superseded.
func endAttempts(tx *store.Tx, orders []*Release, answers []payouts.RailAnswer) {
	n := len(orders)
	ids, partners, numbers := make([]uuid.UUID, n), make([]string, n), make([]int, n)
	outcomes, codes, references := make([]string, n), make([]*string, n), make([]*string, n)
	for i, order := range orders {
		ids[i], _ = store.ResourcePayout.ParseID(order.PayoutID) // formatted from a valid id
		partners[i], numbers[i] = order.Partner, order.Attempt
		outcomes[i], codes[i], references[i] = answers[i].AttemptOutcome(), optional.NonZero(answers[i].Code), optional.NonZero(answers[i].Reference)
	}
	tx.Batch.Queue(`update payout_attempts a set ended_at = $1, outcome = n.outcome, code = n.code, provider_reference = n.reference
		from unnest($2::uuid[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[]) as n (payout_id, partner, number, outcome, code, reference)
		where a.payout_id = n.payout_id and a.partner = n.partner and a.number = n.number and (a.ended_at is null or a.outcome = 'unknown' and n.outcome <> 'unknown')`,
		tx.Now, ids, partners, numbers, outcomes, codes, references)
}
