-- Claims with their determinations, timeline, attachments and messages.

create table claims (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    partner_reference text,
    metadata json,
    policy_id uuid not null,
    product text,
    policy_sequence bigint not null,
    status text not null,
    origin text not null,
    description text,
    occurrence_id uuid,
    occurrence_key text,
    occurred_at timestamptz,
    determination_id uuid,
    currency text not null,
    requested_amount bigint,
    amount bigint,
    outcome text,
    reason_codes text[] not null default '{}',
    retraction text,
    decided_at timestamptz,
    next_review_at timestamptz,
    opened_at timestamptz not null,
    closed_at timestamptz,
    timeline_sequence bigint not null default 0,
    timeline_updated_at timestamptz,
    constraint claims_pkey primary key (id, partner),
    constraint claims_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint claims_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id),
    constraint claims_status_check check (status in ('opened', 'approved', 'deferred', 'declined', 'withdrawn', 'closed')),
    constraint claims_origin_check check (origin in ('trigger', 'approval')),
    constraint claims_trigger_has_occurrence_check check ((origin = 'trigger') = (occurrence_id is not null)),
    constraint claims_approved_has_amount_check check (status not in ('approved', 'closed') or amount is not null),
    constraint claims_closed_has_time_check check ((status = 'closed') = (closed_at is not null)),
    constraint claims_amount_check check (amount >= 0 and requested_amount > 0),
    constraint claims_retraction_check check (retraction in ('held', 'lifted')),
    constraint claims_currency_check check (currency ~ '^[A-Z]{3}$')
) with (fillfactor = 70);
comment on table claims is
    'Claims: what is owed for an occurrence under a policy. fillfactor leaves room for HOT updates: every timeline entry updates the row without touching an indexed column.';
comment on column claims.product is 'Product of the policy, copied for lists by product.';
comment on column claims.policy_sequence is '1, 2, 3 … within the policy; a trigger assigns it. The highest is the number of claims.';
comment on column claims.origin is 'trigger: opened by matching; approval: opened by a partner or an operator.';
comment on column claims.occurrence_key is 'Natural identity of the occurrence when the claim was opened. Rail keys contain its digest, so a later merge of occurrences changes no key.';
comment on column claims.occurred_at is 'When it happened, as the claim says it.';
comment on column claims.determination_id is 'The determination that the decision is based on.';
comment on column claims.requested_amount is 'What the partner asked for, in minor units; null for trigger claims.';
comment on column claims.amount is 'What was approved, in minor units; grows with later revisions.';
comment on column claims.outcome is 'The last decision: approved, deferred, declined.';
comment on column claims.reason_codes is 'Reasons of the last decision; what a deferred claim waits for.';
comment on column claims.retraction is 'Of an approved claim whose observations were retracted: held, its payouts wait; lifted, an operator let them go on.';
comment on column claims.next_review_at is 'When a deferred claim is decided again.';
comment on column claims.timeline_sequence is 'Sequence of the newest timeline entry.';
comment on column claims.timeline_updated_at is 'Time of the newest timeline entry.';
create unique index claims_partner_reference_key on claims (partner, partner_reference) where partner_reference is not null;
create index claims_list_idx on claims (partner, id desc);
create index claims_review_due_idx on claims (next_review_at) where status = 'deferred';
create index claims_occurrence_idx on claims (occurrence_id) where occurrence_id is not null;
-- Every scrape of the metrics reads the age of the oldest claim without a decision.
create index claims_undecided_idx on claims (created_at) where status = 'opened';
create unique index claims_policy_sequence_key on claims (policy_id, partner, policy_sequence);
-- Matching reads the claims of a policy that may be for the same event.
create index claims_policy_occurred_idx on claims (policy_id, occurred_at) where occurrence_id is not null;
-- The quota of claims of origin approval reads the newest of them.
create index claims_approval_idx on claims (policy_id, partner, policy_sequence) where origin = 'approval';
create index claims_status_idx on claims (partner, status, product, id desc);
-- One claim for a policy and an occurrence, except those declined because the observations were retracted: when the source
-- reports them again, another claim can be opened.
create unique index claims_policy_held_occurrence_key on claims (policy_id, occurrence_id, partner)
    where status <> 'declined' or reason_codes <> array['source_retracted'];
-- Finds the claims that claims_policy_held_occurrence_key leaves out.
create index claims_policy_retracted_idx on claims (policy_id, occurrence_id) where status = 'declined' and reason_codes = array['source_retracted'];
create index claims_awaiting_source_idx on claims (opened_at) where status = 'deferred' and reason_codes = array['source_preliminary'];
-- Claims that wait because another claim of the policy may be for the same event.
create index claims_possible_duplicate_idx on claims (policy_id) where status = 'deferred' and reason_codes = array['duplicate_event'];
create function assign_policy_sequence() returns trigger language plpgsql as
$$ begin
    new.policy_sequence := coalesce((select max(policy_sequence) from claims where policy_id = new.policy_id and partner = new.partner), 0) + 1;
    return new;
end $$;
create trigger claims_policy_sequence before insert on claims for each row execute function assign_policy_sequence();

create table determinations (
    id uuid not null,
    partner text not null,
    policy_id uuid not null,
    occurrence_id uuid not null,
    created_at timestamptz not null,
    met boolean not null,
    stage text not null,
    first_day date,
    last_day date,
    amount bigint not null,
    body json not null,
    receipt json not null,
    receipt_hash text not null,
    constraint determinations_pkey primary key (id, partner),
    constraint determinations_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint determinations_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id),
    constraint determinations_stage_check check (stage in ('preliminary', 'final')),
    constraint determinations_days_check check ((first_day is null) = (last_day is null) and first_day <= last_day)
);
comment on table determinations is
    'Result of the trigger for one policy and one occurrence. Insert-only: a revision of the source is a new row.';
comment on column determinations.met is 'Whether the threshold was reached.';
comment on column determinations.first_day is 'Of rainfall: first day of the index; no day pays twice under a policy.';
comment on column determinations.last_day is 'Of rainfall: last day of the index.';
comment on column determinations.amount is 'What the payout curve gives, in minor units of the policy''s currency, before the remaining limit.';
comment on column determinations.body is 'The determination as the API shows it.';
comment on column determinations.receipt is 'The inputs, from which anybody can recompute the determination.';
comment on column determinations.receipt_hash is 'Hash of the receipt.';
create index determinations_policy_idx on determinations (policy_id, occurrence_id);
create index determinations_occurrence_idx on determinations (occurrence_id);
alter table claims add constraint claims_determination_id_fkey foreign key (determination_id, partner) references determinations (id, partner);

create table timeline_entries (
    id uuid not null,
    partner text not null,
    claim_id uuid not null,
    sequence bigint not null,
    kind text not null,
    at timestamptz not null,
    actor_kind text not null,
    actor_name text not null,
    summary text not null,
    data json not null,
    event_id uuid,
    constraint timeline_entries_pkey primary key (claim_id, sequence, partner),
    constraint timeline_entries_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner),
    constraint timeline_entries_event_check check ((event_id is null) = (kind = 'trigger.observed')),
    constraint timeline_entries_actor_kind_check check (actor_kind in ('system', 'partner', 'operator', 'rail', 'source'))
);
comment on table timeline_entries is
    'The timeline of a claim: one entry for every event of the claim and its payouts, and the trigger''s observation.';
comment on column timeline_entries.sequence is '1, 2, 3 … within the claim.';
comment on column timeline_entries.actor_name is 'Who did it, as partners may read it: operators are not named.';
comment on column timeline_entries.summary is 'One sentence for people.';
comment on column timeline_entries.data is 'The same for programs.';
comment on column timeline_entries.event_id is 'The event that the entry is about; null for trigger.observed.';
-- No foreign key of event_id: the event is inserted by the same transaction, and locking its row would write it twice.

create table attachments (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    claim_id uuid not null,
    status text not null,
    file_name text not null,
    content_type text not null,
    size bigint not null,
    sha256 text not null,
    purpose text,
    description text,
    storage_key text not null,
    constraint attachments_pkey primary key (id, partner),
    constraint attachments_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner),
    constraint attachments_status_check check (status in ('stored')),
    constraint attachments_size_check check (size between 1 and 10485760)
);
comment on table attachments is
    'Documents of a claim. The bytes are in the file store under storage_key.';
comment on column attachments.size is 'Bytes.';
comment on column attachments.sha256 is 'Hash of the bytes, in hexadecimal.';
comment on column attachments.purpose is 'What the partner says it is for.';
create index attachments_list_idx on attachments (partner, claim_id, id desc);

create table pending_uploads (
    key text not null,
    created_at timestamptz not null,
    constraint pending_uploads_pkey primary key (key)
);
comment on table pending_uploads is
    'Files that were stored before their attachment row. A sweep deletes the file of a row that is left over.';
comment on column pending_uploads.key is 'Key of the file in the file store.';

create table messages (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    claim_id uuid not null,
    author_kind text not null,
    author_name text not null,
    body text not null,
    constraint messages_pkey primary key (id, partner),
    constraint messages_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner),
    constraint messages_author_kind_check check (author_kind in ('partner', 'operator'))
);
comment on table messages is
    'Messages between a partner and the operators about a claim.';
comment on column messages.author_name is 'Shown to the partner.';
create index messages_list_idx on messages (partner, claim_id, id);
