-- The double-entry ledger.

create function refuse_unbalanced() returns trigger language plpgsql as
$$ begin
    if exists (select from written group by event_id, partner, currency having sum(amount) <> 0) then
        raise exception 'a posting set does not sum to zero';
    end if;
    return null;
end $$;

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
create index ledger_entries_partner_idx on ledger_entries (partner, at, event_id);
create index ledger_entries_policy_idx on ledger_entries (policy_id);
create index ledger_entries_payout_idx on ledger_entries (payout_id) where payout_id is not null;
create trigger ledger_entries_balanced after insert on ledger_entries referencing new table as written for each statement execute function refuse_unbalanced();
create trigger ledger_entries_insert_only before update or delete on ledger_entries for each row execute function refuse_change();
-- What only grows is not emptied at one stroke either: row triggers do not see a truncate.
create trigger ledger_entries_not_truncated before truncate on ledger_entries for each statement execute function refuse_change();
