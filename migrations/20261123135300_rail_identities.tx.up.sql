-- A rail is who it is and not what it is called. bank groups the identities that two operators declared to be one bank.
create table rail_identities (
    id text constraint rail_identities_pkey primary key,
    name text not null,
    address text not null,
    account text not null,
    bank text not null,
    first_used_at timestamptz not null,
    constraint rail_identities_identity_key unique (name, address, account)
);
--bun:split
create table rail_adoptions (
    id uuid constraint rail_adoptions_pkey primary key,
    from_id text not null constraint rail_adoptions_from_id_fkey references rail_identities (id),
    to_id text not null constraint rail_adoptions_to_id_fkey references rail_identities (id),
    proposed_at timestamptz not null,
    proposed_by text not null,
    reason text not null,
    confirmed_at timestamptz,
    confirmed_by text,
    confirmed_reason text,
    constraint rail_adoptions_confirmed_check check ((confirmed_at is null) = (confirmed_by is null)),
    constraint rail_adoptions_two_operators_check check (confirmed_by <> proposed_by)
);
--bun:split
create unique index rail_adoptions_open_key on rail_adoptions (from_id, to_id) where confirmed_at is null;
--bun:split
-- Whom a call went to. No foreign key: it would cost a look at one and the same row for each payout; the identity is written
-- before the first attempt. Null are the attempts of the previous release.
alter table payout_attempts add column rail_identity text;
