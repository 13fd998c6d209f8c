-- The double-entry ledger: what every effect is worth, in the transaction of the effect. A posting set is the entries of one
-- event; debits are positive, credits negative. Insert-only, and a set that does not sum to zero is never written: each
-- statement is held to it, as a set is written by one. There is no premium to be refunded: what is bound is written in full.
create table ledger_entries (
    event_id uuid not null,
    partner text not null,
    account text not null,
    policy_id uuid not null,
    claim_id uuid,
    payout_id uuid,
    currency text not null,
    amount bigint not null,
    at timestamptz not null,
    constraint ledger_entries_pkey primary key (event_id, account, partner),
    constraint ledger_entries_event_id_fkey foreign key (event_id, partner) references events (id, partner),
    constraint ledger_entries_account_check check (account in ('premium_receivable', 'premium_written', 'commission', 'commission_payable', 'claims_incurred', 'reserve', 'rail_clearing', 'payout', 'return')),
    constraint ledger_entries_amount_check check (amount <> 0)
);
--bun:split
create index ledger_entries_partner_idx on ledger_entries (partner, at, event_id);
--bun:split
create index ledger_entries_policy_idx on ledger_entries (policy_id);
--bun:split
create function refuse_unbalanced() returns trigger language plpgsql as
$$ begin
    if exists (select from written group by event_id, partner, currency having sum(amount) <> 0) then
        raise exception 'a posting set does not sum to zero';
    end if;
    return null;
end $$;
--bun:split
create trigger ledger_entries_balanced after insert on ledger_entries referencing new table as written for each statement execute function refuse_unbalanced();
--bun:split
create trigger ledger_entries_insert_only before update or delete on ledger_entries for each row execute function refuse_change();
--bun:split
-- What was bound and paid before there was a ledger. An event that is not there any more leaves nothing to post by.
insert into ledger_entries (event_id, partner, account, policy_id, currency, amount, at)
    select e.id, p.partner, s.account, p.id, p.currency, s.amount, e.occurred_at
    from policies p join quotes q on q.id = p.quote_id and q.partner = p.partner
        join events e on e.subject_id = p.id and e.partner = p.partner and e.type = 'policy.activated'
        cross join lateral (select coalesce(sum((l -> 'amount' ->> 'amount')::bigint), 0) as commission
            from json_array_elements(q.price -> 'lines') l where l ->> 'kind' = 'commission') as c
        cross join lateral (values ('premium_receivable', p.premium_amount), ('premium_written', -p.premium_amount),
            ('commission', c.commission), ('commission_payable', -c.commission)) as s (account, amount)
    where s.amount <> 0;
--bun:split
insert into ledger_entries (event_id, partner, account, policy_id, claim_id, payout_id, currency, amount, at)
    select e.id, po.partner, s.account, po.policy_id, po.claim_id, po.id, po.currency, s.sign * po.amount, e.occurred_at
    from payouts po cross join lateral (select id, occurred_at from events e where e.subject_id = po.id and e.partner = po.partner
            order by subject_version desc limit 1) as e
        join (values ('pending', false, 'claims_incurred', 1), ('pending', false, 'reserve', -1),
            ('releasing', false, 'claims_incurred', 1), ('releasing', false, 'reserve', -1),
            ('blocked', false, 'claims_incurred', 1), ('blocked', false, 'reserve', -1),
            ('reconciling', false, 'claims_incurred', 1), ('reconciling', false, 'reserve', -1),
            ('released', false, 'claims_incurred', 1), ('released', false, 'rail_clearing', -1),
            ('reconciled', false, 'claims_incurred', 1), ('reconciled', false, 'payout', -1),
            ('cancelled', true, 'claims_incurred', 1), ('cancelled', true, 'payout', -1),
            ('returned', false, 'return', 1), ('returned', false, 'payout', -1)) as s (status, settled, account, sign)
        on s.status = po.status and s.settled = po.settled;
