-- Payout methods, payouts, and every call to a rail.

-- sealed holds the account number, readable only with the configured key and only for this row.
create table payout_methods (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    partner_reference text,
    metadata json,
    claim_id uuid,
    policy_id uuid not null,
    status text not null,
    type text not null,
    beneficiary_name text not null,
    beneficiary_country text not null,
    currency text not null,
    last4 text not null,
    institution text,
    country text,
    fingerprint text not null,
    sealed bytea not null,
    verification_method text,
    verification_code text,
    next_check_at timestamptz default business_now(),
    checked_at timestamptz,
    cooling_off_until timestamptz,
    constraint payout_methods_pkey primary key (id, partner),
    constraint payout_methods_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner),
    constraint payout_methods_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint payout_methods_status_check check (status in ('pending', 'verified', 'rejected', 'replaced')),
    constraint payout_methods_type_check check (type in ('iban', 'us_bank_account', 'mobile_money'))
);
create unique index payout_methods_partner_reference_key on payout_methods (partner, partner_reference) where partner_reference is not null;
create index payout_methods_policy_idx on payout_methods (policy_id, partner, id desc);
create index payout_methods_unchecked_idx on payout_methods (next_check_at) where status = 'pending';
create index payout_methods_status_idx on payout_methods (partner, status, id desc);

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
create unique index rail_adoptions_open_key on rail_adoptions (from_id, to_id) where confirmed_at is null;

create table payouts (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    claim_id uuid not null,
    claim_sequence bigint not null,
    policy_id uuid not null,
    status text not null,
    installment integer not null default 1,
    debt_digest text,
    idempotency_seq integer not null default 1,
    amount bigint not null,
    currency text not null,
    payout_method_id uuid,
    blocked_reason text,
    previous_block_reason text,
    approvals_needed integer not null default 0,
    attempts integer not null default 0,
    next_attempt_at timestamptz,
    requeued_at timestamptz,
    provider text,
    provider_reference text,
    released_at timestamptz,
    reconciled_at timestamptz,
    settled_externally boolean not null default false,
    replaces_payout_id uuid,
    constraint payouts_pkey primary key (id, partner),
    constraint payouts_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner),
    constraint payouts_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint payouts_payout_method_id_fkey foreign key (payout_method_id, partner) references payout_methods (id, partner),
    constraint payouts_replaces_payout_id_fkey foreign key (replaces_payout_id, partner) references payouts (id, partner),
    constraint payouts_status_check check (status in ('pending', 'releasing', 'released', 'blocked', 'reconciling', 'reconciled', 'returned', 'cancelled')),
    constraint payouts_blocked_reason_check check (blocked_reason in ('payout_method_missing', 'payout_method_unverified', 'approval_required', 'rail_rejected', 'rail_mismatch', 'compliance_hold', 'operator_hold')),
    constraint payouts_blocked_has_reason_check check ((status = 'blocked') = (blocked_reason is not null)),
    constraint payouts_released_has_time_check check ((status in ('released', 'reconciled', 'returned')) = (released_at is not null)),
    constraint payouts_reconciled_has_time_check check (status <> 'reconciled' or reconciled_at is not null),
    constraint payouts_amount_check check (amount > 0),
    constraint payouts_previous_block_reason_check check (previous_block_reason in ('payout_method_missing', 'payout_method_unverified', 'approval_required', 'rail_rejected')),
    constraint payouts_settled_externally_check check (not settled_externally or status = 'cancelled'),
    constraint payouts_debt_digest_check check (debt_digest ~ '^[0-9a-f]{16}$')
);
-- Each part of what a claim owes is paid once: part 1 at its approval, another when a storm grows. Paying again after a
-- return names what it replaces.
create unique index payouts_claim_installment_key on payouts (claim_id, installment, partner) where status not in ('returned', 'cancelled');
create index payouts_due_idx on payouts (next_attempt_at) where next_attempt_at is not null;
create index payouts_provider_reference_idx on payouts (provider_reference) where provider_reference is not null;
create index payouts_unconfirmed_idx on payouts (provider, released_at) where status = 'released';
create index payouts_stopped_idx on payouts (id) where status = 'pending' and next_attempt_at is null;
-- Metrics add up, at every scrape, what is in doubt or blocked: few payouts among all that ever were.
create index payouts_unsettled_idx on payouts (status) where status in ('reconciling', 'blocked');
create unique index payouts_rail_key_key on payouts (policy_id, debt_digest, idempotency_seq, partner) where debt_digest is not null;
create unique index payouts_claim_sequence_key on payouts (claim_id, partner, claim_sequence);
-- Every step of a payout writes its indexes anew: one by status serves the whole list as well, by a probe for each status.
create index payouts_status_idx on payouts (partner, status, id desc);
-- Payouts that a worker has or had, and those of each partner that are due, are found however many others are due.
create index payouts_in_flight_idx on payouts (next_attempt_at) where status in ('releasing', 'reconciling');
create index payouts_partner_due_idx on payouts (partner, next_attempt_at) where status = 'pending';
create index payouts_partner_stopped_idx on payouts (partner, id) where status = 'pending' and next_attempt_at is null;
create function assign_claim_sequence() returns trigger language plpgsql as
$$ begin
    new.claim_sequence := coalesce((select max(claim_sequence) from payouts where claim_id = new.claim_id and partner = new.partner), 0) + 1;
    return new;
end $$;
create trigger payouts_claim_sequence before insert on payouts for each row execute function assign_claim_sequence();

-- Every call to a rail: written before the call, finished after it. number fences, key is what the rail sees.
create table payout_attempts (
    payout_id uuid not null,
    partner text not null,
    number integer not null,
    rail text not null,
    rail_identity text,
    key text not null,
    started_at timestamptz not null,
    ended_at timestamptz,
    outcome text,
    code text,
    provider_reference text,
    refusal_noticed_at timestamptz,
    voided_at timestamptz,
    refusal_reported_at timestamptz,
    constraint payout_attempts_pkey primary key (payout_id, number, partner),
    constraint payout_attempts_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint payout_attempts_ended_check check ((ended_at is null) = (outcome is null)),
    constraint payout_attempts_outcome_check check (outcome in ('accepted', 'refused', 'unknown', 'not_sent'))
) with (fillfactor = 70);
comment on column payout_attempts.refusal_reported_at is
    'When a line of the rail''s report refused the key while no call under it had a clear end. The rail is asked then; the report decides where it cannot be asked or does not know the key.';

create table payout_approvals (
    id uuid not null,
    partner text not null,
    created_at timestamptz not null,
    payout_id uuid not null,
    digest text not null,
    author text not null,
    note text,
    constraint payout_approvals_pkey primary key (id, partner),
    constraint payout_approvals_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint payout_approvals_author_key unique (payout_id, digest, author, partner)
);
create trigger payout_approvals_insert_only before update or delete on payout_approvals for each row execute function refuse_change();
create trigger payout_approvals_not_truncated before truncate on payout_approvals for each statement execute function refuse_change();

-- Money that a rail's report shows to have arrived under a key whose payout could not be confirmed by it, and not to have come
-- back: nothing more is sent for that part of the claim.
create table payout_arrivals (
    claim_id uuid not null,
    partner text not null,
    installment integer not null,
    idempotency_seq integer not null,
    created_at timestamptz not null,
    reported_at timestamptz,
    constraint payout_arrivals_pkey primary key (claim_id, partner, installment, idempotency_seq),
    constraint payout_arrivals_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner)
);
comment on table payout_arrivals is
    'Money that a bank says has arrived under keys of payouts that could not be confirmed by it, and that no report shows to have come back: nothing more is sent for the part of the claim.';
comment on column payout_arrivals.reported_at is
    'When it arrived, by the latest line of a report. Null where an answer or a notice of the rail said so.';

-- Two operators' word that a beneficiary has the money of a payout that was not sent from here, as after a restore. Whatever
-- lets the payout go on withdraws what one of them said.
create table external_settlements (
    id uuid not null,
    partner text not null,
    payout_id uuid not null,
    reference text not null,
    proposed_at timestamptz not null,
    proposed_by text not null,
    confirmed_at timestamptz,
    confirmed_by text,
    withdrawn_at timestamptz,
    constraint external_settlements_pkey primary key (id, partner),
    constraint external_settlements_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint external_settlements_confirmed_check check ((confirmed_at is null) = (confirmed_by is null)),
    constraint external_settlements_two_operators_check check (confirmed_by <> proposed_by),
    constraint external_settlements_ended_once_check check (confirmed_at is null or withdrawn_at is null)
);
create unique index external_settlements_open_key on external_settlements (payout_id, partner) where confirmed_at is null and withdrawn_at is null;

-- Who at Parapet did what to a partner's records, and why, in their own words. Private: no event, timeline, REST answer or
-- partner's query ever shows a row of it. Insert-only.
create table operator_actions (
    id uuid not null,
    partner text not null,
    created_at timestamptz not null,
    operation text not null,
    author text not null,
    policy_id uuid,
    claim_id uuid,
    payout_id uuid,
    note text,
    constraint operator_actions_pkey primary key (id, partner),
    constraint operator_actions_partner_fkey foreign key (partner) references partners (slug),
    constraint operator_actions_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint operator_actions_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner),
    constraint operator_actions_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint operator_actions_operation_check check (operation in ('decide_claim', 'withdraw_claim', 'cancel_policy', 'block_payout', 'unblock_payout', 'approve_payout', 'release_payout', 'resolve_payout', 'settle_payout', 'register_partner', 'disable_partner', 'enable_partner'))
);
create index operator_actions_claim_idx on operator_actions (claim_id, id) where claim_id is not null;
create index operator_actions_policy_idx on operator_actions (policy_id, id) where policy_id is not null;
