package modeltest

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"

	"parapet/model/kernel/compress"
	"parapet/model/payouts"
)

// copyRows copies a bound policy with its quote, its payout method, their events and the
// postings, once for each set of ids. A record's id in the body of an event is replaced
// as text, so the copies' bodies are stored plain.
const copyRows = `with copies as (select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bytea[])
			as c (quote, policy, method, quote_text, policy_text, method_text, sealed)
	), quoted as (
		insert into quotes select copy.* from (select q from quotes q where policy_id = $8) as one (q), copies c,
			lateral jsonb_populate_record(one.q, jsonb_build_object('id', c.quote, 'policy_id', c.policy, 'partner_reference', null)) as copy
	), paid as (
		insert into payout_methods select copy.* from (select m from payout_methods m where policy_id = $8) as one (m), copies c,
			lateral jsonb_populate_record(one.m, jsonb_build_object('id', c.method, 'policy_id', c.policy, 'sealed', c.sealed)) as copy
	), bound as (
		insert into policies select copy.* from (select p from policies p where id = $8) as one (p), copies c,
			lateral jsonb_populate_record(one.p, jsonb_build_object('id', c.policy, 'quote_id', c.quote, 'partner_reference', null)) as copy
	), keyed as (
		insert into policy_keys select policy, p.partner, c.quote, null from policies p, copies c where p.id = $8
	), occurred as materialized (
		select gen_random_uuid() as new_id, e.*, c.*, body, place
		from copies c cross join unnest($12::uuid[], $13::text[]) with ordinality as b (event, body, place) join events e on e.id = b.event
	), recorded as (
		insert into events (id, partner, type, subject_type, subject_id, subject_version, occurred_at, data)
		select new_id, partner, type, subject_type, case subject_type when 'quote' then quote when 'policy' then policy else method end, subject_version, occurred_at,
			convert_to(replace(replace(replace(body, $9, quote_text), $10, policy_text), $11, method_text), 'UTF8') from occurred
	), queued as (
		insert into event_outbox (partner, event_id) select partner, new_id from occurred order by place
	)
	insert into ledger_entries (event_id, partner, account, policy_id, currency, amount, at)
	select o.new_id, le.partner, le.account, o.policy, le.currency, le.amount, le.at from ledger_entries le join occurred o on o.id = le.event_id`

// CopyPolicies binds a policy for earthquakes, which can be paid, and copies it with its
// events and postings, so that there are n. All are in force for 100 days.
func (b *Bundle) CopyPolicies(n int) {
	b.t.Helper()
	policy := b.QuoteAndBind("quake-circle", nil)
	in := PolicyIBANMethod(policy.ID)
	method := b.RecordPayoutMethod(in)
	b.runVerification(payouts.VerifyPayoutMethod{Partner: *policy.Partner, ID: method.ID})
	var ids [3][]uuid.UUID
	var texts [3][]string
	sealed := make([][]byte, n-1)
	for i := range sealed {
		for kind, prefix := range []string{"quo", "pol", "pmt"} {
			id := Must(uuid.NewV7())
			ids[kind] = append(ids[kind], id)
			texts[kind] = append(texts[kind], Must(typeid.FromUUIDBytesWithPrefix(prefix, id[:])).String())
		}
		sealed[i] = Must(SealAccount(b.Service.Keys, *policy.Partner, ids[2][i], in.Number))
	}
	events, bodies := b.eventBodies(policy.QuoteID, policy.ID, method.ID)
	tx, err := b.DB.Pool.Begin(b.ctx)
	require.NoError(b.t, err)
	defer func() { _ = tx.Rollback(b.ctx) }()
	_, err = tx.Exec(b.ctx, "set local session_replication_role = replica")
	require.NoError(b.t, err)
	_, err = tx.Exec(b.ctx, copyRows, pgx.QueryExecModeCacheStatement, ids[0], ids[1], ids[2], texts[0], texts[1], texts[2], sealed,
		DatabaseID(policy), policy.QuoteID, policy.ID, method.ID, events, bodies)
	require.NoError(b.t, err)
	require.NoError(b.t, tx.Commit(b.ctx))
	_, err = b.DB.Pool.Exec(b.ctx, "analyze policies, payout_methods, quotes, events, ledger_entries")
	require.NoError(b.t, err)
	b.AdvanceClock(100 * 24 * time.Hour)
}

// eventBodies returns the ids and the bodies of all events that name one of the records,
// in the order they were written.
func (b *Bundle) eventBodies(records ...string) (ids []uuid.UUID, bodies []string) {
	b.t.Helper()
	rows, err := b.DB.Pool.Query(b.ctx, `select e.id, e.data from events e left join event_sequence s on s.event_id = e.id
		left join event_outbox o on o.event_id = e.id order by coalesce(s.sequence, o.ordinal)`)
	require.NoError(b.t, err)
	var id uuid.UUID
	var body compress.JSON
	_, err = pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		if slices.ContainsFunc(records, func(record string) bool { return strings.Contains(string(body), record) }) {
			ids, bodies = append(ids, id), append(bodies, string(body))
		}
		return nil
	})
	require.NoError(b.t, err)
	return ids, bodies
}
