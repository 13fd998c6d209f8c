-- Payout methods, payouts, and every call to a rail.

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
    constraint payout_methods_type_check check (type in ('iban', 'us_bank_account', 'mobile_money')),
    constraint payout_methods_currency_check check (currency ~ '^[A-Z]{3}$')
);
comment on table payout_methods is
    'Accounts that payouts can go to. A new account replaces the old one; the row of the old one stays.';
comment on column payout_methods.claim_id is 'Of a method for one claim only; null: for the policy.';
comment on column payout_methods.last4 is 'Last four characters of the account number, for display.';
comment on column payout_methods.institution is 'Bank or provider, from the account number.';
comment on column payout_methods.fingerprint is 'Keyed hash of the account number: equal accounts have equal fingerprints.';
comment on column payout_methods.sealed is 'The account number, sealed with the configured key for this row only.';
comment on column payout_methods.verification_method is 'How the account was verified.';
comment on column payout_methods.verification_code is 'What the rail answered.';
comment on column payout_methods.next_check_at is 'When the rail is asked about the account at the latest: a check that failed or was lost is repeated.';
comment on column payout_methods.checked_at is 'When the rail answered.';
comment on column payout_methods.cooling_off_until is 'Until then a payout to an account that replaced another needs an approval.';
create unique index payout_methods_partner_reference_key on payout_methods (partner, partner_reference) where partner_reference is not null;
create index payout_methods_policy_idx on payout_methods (policy_id, partner, id desc);
create index payout_methods_unchecked_idx on payout_methods (next_check_at) where status = 'pending';
create index payout_methods_status_idx on payout_methods (partner, status, id desc);

create table rail_identities (
    id text constraint rail_identities_pkey primary key,
    name text not null,
    address text not null,
    account text not null,
    bank text not null,
    first_used_at timestamptz not null,
    constraint rail_identities_identity_key unique (name, address, account)
);
comment on table rail_identities is
    'Rails that money was sent through: a rail is identified by its address and paying account, not by its name.';
comment on column rail_identities.id is 'Derived from name, address and account.';
comment on column rail_identities.name is 'Name of the rail in the configuration.';
comment on column rail_identities.account is 'The paying account; empty if the rail has none.';
comment on column rail_identities.bank is 'Groups identities that two operators declared to be one bank.';

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
comment on table rail_adoptions is
    'Declarations of two operators that two rail identities are one bank: payouts in doubt at the former may be settled by reports of the latter.';
comment on column rail_adoptions.confirmed_by is 'A second operator.';
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
    constraint payouts_debt_digest_check check (debt_digest ~ '^[0-9a-f]{16}$'),
    constraint payouts_currency_check check (currency ~ '^[A-Z]{3}$')
);
comment on table payouts is
    'Money to be paid for a claim. next_attempt_at decides when a payout is due; the job queue only wakes a worker.';
comment on column payouts.claim_sequence is '1, 2, 3 … within the claim; a trigger assigns it.';
comment on column payouts.installment is 'Part of the claim''s debt: 1 at the approval, one more for every increase.';
comment on column payouts.debt_digest is 'Digest of what is owed. The rail''s idempotency key is <policy id>.<debt_digest>.<idempotency_seq>: it names the debt, not the row, so that a row made again pays once.';
comment on column payouts.idempotency_seq is 'Last part of the rail''s key; grows only when the rail certainly did not execute the key before.';
comment on column payouts.amount is 'Minor units of currency.';
comment on column payouts.payout_method_id is 'The account it goes to; null until one is chosen.';
comment on column payouts.blocked_reason is 'Why a blocked payout waits.';
comment on column payouts.previous_block_reason is 'What blocked the payout before an operator''s hold, which comes back when the hold is lifted.';
comment on column payouts.approvals_needed is 'How many operators must approve; see payout_approvals.';
comment on column payouts.attempts is 'Number of calls to a rail.';
comment on column payouts.next_attempt_at is 'When the payout is due; null if nothing is to be done or releases are stopped.';
comment on column payouts.requeued_at is 'When an overdue payout was last given a new job.';
comment on column payouts.provider is 'Rail that has the payout.';
comment on column payouts.provider_reference is 'The rail''s reference.';
comment on column payouts.settled_externally is 'Cancelled, but the beneficiary has the money: counts as paid.';
comment on column payouts.replaces_payout_id is 'The returned or cancelled payout that this one pays again.';
-- Each installment of a claim is paid once; a payout that was returned or cancelled can be replaced.
create unique index payouts_claim_installment_key on payouts (claim_id, installment, partner) where status not in ('returned', 'cancelled');
create index payouts_due_idx on payouts (next_attempt_at) where next_attempt_at is not null;
create index payouts_provider_reference_idx on payouts (provider_reference) where provider_reference is not null;
create index payouts_unconfirmed_idx on payouts (provider, released_at) where status = 'released';
create index payouts_stopped_idx on payouts (id) where status = 'pending' and next_attempt_at is null;
-- Every scrape of the metrics adds up the payouts that are in doubt or blocked.
create index payouts_unsettled_idx on payouts (status) where status in ('reconciling', 'blocked');
create unique index payouts_rail_key_key on payouts (policy_id, debt_digest, idempotency_seq, partner) where debt_digest is not null;
create unique index payouts_claim_sequence_key on payouts (claim_id, partner, claim_sequence);
create index payouts_replaces_idx on payouts (replaces_payout_id) where replaces_payout_id is not null;
-- No index by payout_method_id: no query reads by it, the key of a method never changes, and every step of a payout would
-- write the index.
-- Lists by status, and the list of all by one probe for each status: every step of a payout writes each index, so there is
-- none without the status.
create index payouts_status_idx on payouts (partner, status, id desc);
-- The next three find payouts that a worker has, and those of each partner that are due or stopped, however many others are due.
create index payouts_in_flight_idx on payouts (next_attempt_at) where status in ('releasing', 'reconciling');
create index payouts_partner_due_idx on payouts (partner, next_attempt_at) where status = 'pending';
create index payouts_partner_stopped_idx on payouts (partner, id) where status = 'pending' and next_attempt_at is null;
create function assign_claim_sequence() returns trigger language plpgsql as
$$ begin
    new.claim_sequence := coalesce((select max(claim_sequence) from payouts where claim_id = new.claim_id and partner = new.partner), 0) + 1;
    return new;
end $$;
create trigger payouts_claim_sequence before insert on payouts for each row execute function assign_claim_sequence();

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
comment on table payout_attempts is
    'Calls to a rail, written before the call and finished after it. fillfactor leaves room for the second write.';
comment on column payout_attempts.number is '1, 2, 3 … within the payout. A later number fences off the answer to an earlier one.';
comment on column payout_attempts.rail_identity is 'Which rail was called. No foreign key: every payout would lock the same row; the identity is written before the first call.';
comment on column payout_attempts.key is 'Idempotency key that the rail sees.';
comment on column payout_attempts.outcome is 'accepted, refused, unknown (in doubt), or not_sent: the order was not written. Null while the call runs.';
comment on column payout_attempts.code is 'The rail''s code of a refusal.';
comment on column payout_attempts.refusal_noticed_at is 'When the rail sent a refusal on its own that it has not confirmed.';
comment on column payout_attempts.voided_at is 'When the rail promised never to execute the key.';
comment on column payout_attempts.refusal_reported_at is 'When a line of the rail''s report refused the key while no call under it had a clear end. The rail is asked then; the report decides where it cannot be asked or does not know the key.';

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
comment on table payout_approvals is
    'Operators'' approvals of payouts. Insert-only.';
comment on column payout_approvals.digest is 'What was approved: payout, amount, account. Another account needs new approvals.';
comment on column payout_approvals.author is 'The operator, as issuer#subject.';
comment on column payout_approvals.note is 'Private to operators.';
create trigger payout_approvals_insert_only before update or delete on payout_approvals for each row execute function refuse_change();
create trigger payout_approvals_not_truncated before truncate on payout_approvals for each statement execute function refuse_change();

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
    'Money that arrived, as a bank says, under keys of payouts that could not be confirmed by it, and that no report shows as returned: nothing more is sent for the installment.';
comment on column payout_arrivals.reported_at is 'When it arrived, by the latest line of a report; null where an answer or a notice of the rail said so.';

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
comment on table external_settlements is
    'Declarations of two operators that a beneficiary has the money of a payout that was not sent from here, for example after a restore.';
comment on column external_settlements.reference is 'Where the payment can be found.';
comment on column external_settlements.confirmed_by is 'A second operator.';
comment on column external_settlements.withdrawn_at is 'When something else let the payout go on before the confirmation.';
create unique index external_settlements_open_key on external_settlements (payout_id, partner) where confirmed_at is null and withdrawn_at is null;

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
comment on table operator_actions is
    'What operators did to a partner''s records and why. Private: no event, timeline or partner''s query shows it.';
comment on column operator_actions.author is 'The operator, as issuer#subject.';
comment on column operator_actions.note is 'The operator''s words.';
create index operator_actions_claim_idx on operator_actions (claim_id, id) where claim_id is not null;
create index operator_actions_policy_idx on operator_actions (policy_id, id) where policy_id is not null;
create index operator_actions_payout_idx on operator_actions (payout_id) where payout_id is not null;
