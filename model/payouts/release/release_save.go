package release

import (
	"time"

	"github.com/google/uuid"

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
			ended[i], outcomes[i], codes[i], references[i] = &tx.Now, new(answers[i].AttemptOutcome()), store.StringOrNil(answers[i].Code), store.StringOrNil(answers[i].Reference)
		}
	}
	tx.Batch.Queue(`insert into payout_attempts (payout_id, partner, number, key, ended_at, outcome, code, provider_reference, rail, rail_identity, started_at)
		select n.*, $9, $10, $11 from unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[]) as n`,
		ids, partners, numbers, keys, ended, outcomes, codes, references, to.Rail, store.StringOrNil(to.Bank), tx.Now)
}

// endAttempt writes the result of a call. A definite result replaces an unknown one,
// also when it arrives later: without its recorded refusal, the key would look
// superseded.
func endAttempt(tx *store.Tx, payout uuid.UUID, order *Release, answer payouts.RailAnswer) {
	tx.Batch.Queue(`update payout_attempts set ended_at = $1, outcome = $5, code = $6, provider_reference = $7
		where payout_id = $2 and partner = $3 and number = $4 and (ended_at is null or outcome = 'unknown' and $5 <> 'unknown')`,
		tx.Now, payout, order.Partner, order.Attempt, answer.AttemptOutcome(), store.StringOrNil(answer.Code), store.StringOrNil(answer.Reference))
}
