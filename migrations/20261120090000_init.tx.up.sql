-- The first schema. Nothing ran before it, so no earlier release sees it applied.
--
-- Habits: primary keys are (id, partner) and foreign keys carry the partner, so that the tables can be distributed by
-- partner; states are text with a CHECK that mirrors model/lifecycle.go; money is a bigint of minor units with its
-- currency; every constraint is named, because model/constraint.go turns the name into the partner's sentence.

-- The development clock: business time is the database's clock plus this shift. rehearsal marks a database where history
-- may be replayed; a production database never has it.
create table clock (
    only_row boolean constraint clock_pkey primary key default true,
    shift interval not null default interval '0',
    rehearsal boolean not null default false,
    constraint clock_only_row_check check (only_row)
);
--bun:split
insert into clock default values;
--bun:split
create function business_now() returns timestamptz language sql volatile as
$$ select clock_timestamp() + (select shift from clock) $$;
--bun:split

create table partners (
    slug text constraint partners_pkey primary key,
    name text not null,
    status text not null default 'enabled',
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint partners_slug_check check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    constraint partners_status_check check (status in ('enabled', 'disabled'))
);
--bun:split

-- A published product never changes; a change is a new version.
create table products (
    key text not null,
    version integer not null,
    document text not null,
    digest text not null,
    created_at timestamptz not null,
    constraint products_pkey primary key (key, version),
    constraint products_version_check check (version >= 1)
);
--bun:split

create table quotes (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    partner_reference text,
    metadata json,
    status text not null,
    product text not null,
    product_version integer not null,
    context json not null,
    ignored_context text[] not null,
    cover json not null,
    terms_hash text not null,
    price json not null,
    basis json not null,
    history json not null,
    premium_amount bigint not null,
    currency text not null,
    expires_at timestamptz not null,
    policy_id uuid,
    constraint quotes_pkey primary key (id, partner),
    constraint quotes_partner_fkey foreign key (partner) references partners (slug),
    constraint quotes_product_fkey foreign key (product, product_version) references products (key, version),
    constraint quotes_status_check check (status in ('priced', 'bound', 'expired')),
    constraint quotes_bound_has_policy_check check ((status = 'bound') = (policy_id is not null)),
    constraint quotes_premium_check check (premium_amount > 0)
);
--bun:split
create unique index quotes_partner_reference_key on quotes (partner, partner_reference) where partner_reference is not null;
--bun:split
create index quotes_list_idx on quotes (partner, id desc);
--bun:split
create index quotes_due_idx on quotes (expires_at) where status = 'priced';
--bun:split

create table policies (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    partner_reference text,
    metadata json,
    status text not null,
    quote_id uuid not null,
    product text not null,
    product_version integer not null,
    policyholder json,
    cover json not null,
    terms_hash text not null,
    currency text not null,
    premium_amount bigint not null,
    limit_amount bigint not null,
    limit_remaining bigint not null,
    effective_at timestamptz not null,
    payable_from timestamptz not null,
    expires_at timestamptz not null,
    reportable_until timestamptz not null,
    cancelled_at timestamptz,
    kind text not null,
    footprint box,
    station text,
    constraint policies_pkey primary key (id, partner),
    constraint policies_partner_fkey foreign key (partner) references partners (slug),
    constraint policies_quote_id_fkey foreign key (quote_id, partner) references quotes (id, partner),
    constraint policies_quote_id_key unique (quote_id, partner),
    constraint policies_status_check check (status in ('active', 'exhausted', 'expired', 'cancelled', 'archived')),
    constraint policies_period_check check (effective_at < expires_at and payable_from >= effective_at and reportable_until >= expires_at),
    constraint policies_limit_check check (limit_amount > 0 and limit_remaining between 0 and limit_amount),
    constraint policies_kind_check check (kind in ('earthquake', 'storm_fix', 'station_day')),
    constraint policies_place_check check ((footprint is null) <> (station is null))
);
--bun:split
create unique index policies_partner_reference_key on policies (partner, partner_reference) where partner_reference is not null;
--bun:split
create index policies_list_idx on policies (partner, id desc);
--bun:split
-- Matching finds policies by where they are; status is not asked, because cover is judged at the occurrence's time.
create index policies_footprint_idx on policies using gist (footprint) where status <> 'archived' and footprint is not null;
--bun:split
create index policies_station_idx on policies (station, expires_at) where status <> 'archived' and station is not null;
--bun:split
create index policies_due_idx on policies (expires_at) where status in ('active', 'exhausted');
--bun:split
create index policies_archive_due_idx on policies (reportable_until) where status <> 'archived';
--bun:split

-- One thing that happened. scope is empty for what a source reported, or the partner who rehearses in the sandbox.
create table occurrences (
    id uuid constraint occurrences_pkey primary key,
    scope text not null default '',
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    source text not null,
    source_event_id text not null,
    kind text not null,
    occurred_at timestamptz not null,
    last_at timestamptz not null,
    stage text not null,
    source_version text not null,
    merged_into uuid,
    constraint occurrences_source_event_key unique (scope, source, kind, source_event_id),
    constraint occurrences_merged_into_fkey foreign key (merged_into) references occurrences (id),
    constraint occurrences_kind_check check (kind in ('earthquake', 'storm_fix', 'station_day')),
    constraint occurrences_stage_check check (stage in ('preliminary', 'final'))
);
--bun:split
create index occurrences_merged_idx on occurrences (merged_into) where merged_into is not null;
--bun:split
-- Sources rename their events; every name they ever used leads to one occurrence.
create table occurrence_aliases (
    scope text not null default '',
    source text not null,
    kind text not null,
    alias text not null,
    occurrence_id uuid not null,
    constraint occurrence_aliases_pkey primary key (scope, source, kind, alias),
    constraint occurrence_aliases_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id)
);
--bun:split
create index occurrence_aliases_occurrence_idx on occurrence_aliases (occurrence_id);
--bun:split

create table observations (
    id uuid constraint observations_pkey primary key,
    scope text not null default '',
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    source text not null,
    natural_key text not null,
    source_event_id text not null,
    kind text not null,
    occurred_at timestamptz not null,
    stage text not null,
    revision bigint,
    body json not null,
    digest bytea not null,
    station text,
    day date,
    occurrence_id uuid,
    constraint observations_natural_key unique (scope, source, natural_key),
    constraint observations_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id),
    constraint observations_kind_check check (kind in ('earthquake', 'storm_fix', 'station_day')),
    constraint observations_stage_check check (stage in ('preliminary', 'final')),
    constraint observations_station_check check ((kind = 'station_day') = (station is not null and day is not null))
);
--bun:split
create index observations_occurrence_idx on observations (occurrence_id, occurred_at);
--bun:split
create index observations_station_idx on observations (station, source, scope, day) where station is not null;
--bun:split
-- What a source said before it changed its mind. Insert-only.
create table observation_revisions (
    observation_id uuid not null,
    version bigint not null,
    body json not null,
    recorded_at timestamptz not null,
    constraint observation_revisions_pkey primary key (observation_id, version),
    constraint observation_revisions_observation_id_fkey foreign key (observation_id) references observations (id)
);
--bun:split

create table claims (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    partner_reference text,
    metadata json,
    policy_id uuid not null,
    status text not null,
    origin text not null,
    description text,
    occurrence_id uuid,
    occurred_at timestamptz,
    determination_id uuid,
    currency text not null,
    requested_amount bigint,
    amount bigint,
    outcome text,
    reason_codes text[] not null default '{}',
    decided_at timestamptz,
    next_review_at timestamptz,
    opened_at timestamptz not null,
    closed_at timestamptz,
    timeline_sequence bigint not null default 0,
    told_at timestamptz,
    constraint claims_pkey primary key (id, partner),
    constraint claims_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint claims_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id),
    constraint claims_policy_occurrence_key unique (policy_id, occurrence_id, partner),
    constraint claims_status_check check (status in ('opened', 'approved', 'deferred', 'declined', 'withdrawn', 'closed')),
    constraint claims_origin_check check (origin in ('trigger', 'approval')),
    constraint claims_trigger_has_occurrence_check check ((origin = 'trigger') = (occurrence_id is not null)),
    constraint claims_approved_has_amount_check check (status not in ('approved', 'closed') or amount is not null),
    constraint claims_closed_has_time_check check ((status = 'closed') = (closed_at is not null)),
    constraint claims_amount_check check (amount >= 0 and requested_amount > 0)
);
--bun:split
create unique index claims_partner_reference_key on claims (partner, partner_reference) where partner_reference is not null;
--bun:split
create index claims_list_idx on claims (partner, id desc);
--bun:split
create index claims_policy_idx on claims (policy_id, partner);
--bun:split
create index claims_review_due_idx on claims (next_review_at) where status = 'deferred';
--bun:split
create index claims_occurrence_idx on claims (occurrence_id) where occurrence_id is not null;
--bun:split

-- What the trigger said of one policy and one occurrence. Insert-only: a revision is a new row.
create table determinations (
    id uuid not null,
    partner text not null,
    policy_id uuid not null,
    occurrence_id uuid not null,
    created_at timestamptz not null,
    met boolean not null,
    stage text not null,
    amount bigint not null,
    body json not null,
    receipt json not null,
    receipt_hash text not null,
    constraint determinations_pkey primary key (id, partner),
    constraint determinations_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint determinations_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id),
    constraint determinations_stage_check check (stage in ('preliminary', 'final'))
);
--bun:split
create index determinations_policy_idx on determinations (policy_id, occurrence_id);
--bun:split
alter table claims add constraint claims_determination_id_fkey foreign key (determination_id, partner) references determinations (id, partner);
--bun:split

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
--bun:split

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
--bun:split
create index attachments_list_idx on attachments (partner, claim_id, id desc);
--bun:split

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
--bun:split
create index messages_list_idx on messages (partner, claim_id, id);
--bun:split

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
    checked_at timestamptz,
    constraint payout_methods_pkey primary key (id, partner),
    constraint payout_methods_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner),
    constraint payout_methods_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint payout_methods_status_check check (status in ('pending', 'verified', 'rejected', 'replaced')),
    constraint payout_methods_type_check check (type in ('iban', 'us_bank_account', 'mobile_money'))
);
--bun:split
create unique index payout_methods_partner_reference_key on payout_methods (partner, partner_reference) where partner_reference is not null;
--bun:split
create index payout_methods_policy_idx on payout_methods (policy_id, partner, id desc);
--bun:split

create table payouts (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    claim_id uuid not null,
    policy_id uuid not null,
    status text not null,
    part integer not null default 1,
    amount bigint not null,
    currency text not null,
    payout_method_id uuid,
    blocked_reason text,
    attempts integer not null default 0,
    key_number integer not null default 1,
    next_attempt_at timestamptz,
    revived_at timestamptz,
    provider text,
    provider_reference text,
    released_at timestamptz,
    reconciled_at timestamptz,
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
    constraint payouts_amount_check check (amount > 0)
);
--bun:split
-- Each part of what a claim owes is paid once: part 1 at its approval, another when a storm grows. Paying again after a
-- return names what it replaces.
create unique index payouts_claim_part_key on payouts (claim_id, part, partner) where status not in ('returned', 'cancelled');
--bun:split
create index payouts_list_idx on payouts (partner, id desc);
--bun:split
create index payouts_claim_idx on payouts (claim_id, partner, id);
--bun:split
create index payouts_due_idx on payouts (next_attempt_at) where next_attempt_at is not null;
--bun:split
-- Every call to a rail: written before the call, finished after it. number fences, key is what the rail sees.
create table payout_attempts (
    payout_id uuid not null,
    partner text not null,
    number integer not null,
    rail text not null,
    key text not null,
    started_at timestamptz not null,
    ended_at timestamptz,
    outcome text,
    code text,
    provider_reference text,
    constraint payout_attempts_pkey primary key (payout_id, number, partner),
    constraint payout_attempts_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint payout_attempts_outcome_check check (outcome in ('accepted', 'refused', 'unknown')),
    constraint payout_attempts_ended_check check ((ended_at is null) = (outcome is null))
);
--bun:split

-- Insert-only; data is the exact bytes that are sent. Number and hash stand in event_numbers.
create table events (
    id uuid not null,
    partner text not null,
    type text not null,
    subject_type text not null,
    subject_id uuid not null,
    subject_version bigint not null,
    occurred_at timestamptz not null,
    data bytea not null,
    constraint events_pkey primary key (id, partner)
);
--bun:split
create index events_subject_idx on events (subject_id);
--bun:split
create table event_outbox (
    ordinal bigint generated always as identity constraint event_outbox_pkey primary key,
    partner text not null,
    event_id uuid not null
);
--bun:split
create table event_numbers (
    partner text not null,
    sequence bigint not null,
    event_id uuid not null,
    hash bytea not null,
    constraint event_numbers_pkey primary key (partner, sequence),
    constraint event_numbers_event_id_key unique (event_id, partner),
    constraint event_numbers_event_id_fkey foreign key (event_id, partner) references events (id, partner)
);
--bun:split

create table idempotency_keys (
    owner text not null,
    operation text not null,
    key text not null,
    request_hash bytea not null,
    status integer not null,
    resource_id text,
    body bytea not null,
    created_at timestamptz not null,
    constraint idempotency_keys_pkey primary key (owner, operation, key)
);
--bun:split
create index idempotency_keys_due_idx on idempotency_keys (created_at);
--bun:split

-- How many requests each caller may still make, shared by all nodes. Unlogged: after a crash everybody starts anew.
create unlogged table rate_buckets (
    who text constraint rate_buckets_pkey primary key,
    tokens double precision not null,
    granted integer not null,
    at timestamptz not null
);
--bun:split

-- What the poller knows of each feed address, and the shift a replayed file was given.
create table feed_polls (
    source text not null,
    url text not null,
    etag text,
    last_modified text,
    next_poll_at timestamptz not null,
    failures integer not null default 0,
    last_error text,
    polled_at timestamptz,
    constraint feed_polls_pkey primary key (source, url)
);
--bun:split
create table feed_replays (
    source text not null,
    digest text not null,
    event_id text not null,
    shift_us bigint not null,
    created_at timestamptz not null,
    constraint feed_replays_pkey primary key (source, digest)
);
--bun:split

-- The simulator rail's own books: what it executed, by the key it was given.
create table simulator_transfers (
    key text constraint simulator_transfers_pkey primary key,
    body json not null,
    created_at timestamptz not null default clock_timestamp()
);
