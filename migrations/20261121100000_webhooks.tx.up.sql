-- Where a partner wants to hear of events, and what was sent there.
create table webhook_endpoints (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    partner_reference text,
    metadata json,
    url text not null,
    event_types text[] not null,
    ordered boolean not null,
    status text not null,
    note text,
    secret bytea not null,
    -- Signs beside the new one for a day after a rotation.
    former_secret bytea,
    former_until timestamptz,
    -- Hidden at once; a sweep removes the row after its deliveries.
    deleted_at timestamptz,
    constraint webhook_endpoints_pkey primary key (id, partner),
    constraint webhook_endpoints_status_check check (status in ('enabled', 'disabled'))
);
--bun:split
create unique index webhook_endpoints_partner_reference_key on webhook_endpoints (partner, partner_reference) where partner_reference is not null and deleted_at is null;
--bun:split
create index webhook_endpoints_partner_idx on webhook_endpoints (partner, id desc) where deleted_at is null;
--bun:split
-- How far an endpoint has come, apart from the endpoint's record: it changes with
-- every batch that is sent. At most one drain works an endpoint: the one whose token
-- stands here.
create table webhook_progress (
    endpoint_id uuid not null,
    partner text not null,
    active boolean not null,
    position bigint not null,
    due_at timestamptz,
    drain uuid,
    drain_at timestamptz,
    failures bigint not null default 0,
    failing_since timestamptz,
    probe_at timestamptz,
    allowance integer not null,
    constraint webhook_progress_pkey primary key (endpoint_id, partner),
    constraint webhook_progress_endpoint_id_fkey foreign key (endpoint_id, partner) references webhook_endpoints (id, partner) on delete cascade
);
--bun:split
create index webhook_progress_partner_idx on webhook_progress (partner) where active;
--bun:split
create index webhook_progress_due_idx on webhook_progress (due_at) where active;
--bun:split
-- A delivery is born with its first attempt and carries all of them.
create table deliveries (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    endpoint_id uuid not null,
    event_id uuid not null,
    sequence bigint not null,
    subject_id uuid not null,
    status text not null,
    tries integer not null,
    attempts json not null,
    next_attempt_at timestamptz,
    constraint deliveries_pkey primary key (id, partner),
    constraint deliveries_endpoint_id_fkey foreign key (endpoint_id, partner) references webhook_endpoints (id, partner) on delete cascade,
    constraint deliveries_status_check check (status in ('pending', 'delivered', 'parked'))
);
--bun:split
create index deliveries_endpoint_idx on deliveries (endpoint_id, partner, id desc);
--bun:split
create index deliveries_pending_idx on deliveries (endpoint_id, next_attempt_at) where status = 'pending';
--bun:split
create index deliveries_parked_idx on deliveries (endpoint_id, sequence) where status = 'parked';
--bun:split
create index deliveries_created_idx on deliveries using brin (created_at);
--bun:split
-- An answer that holds a secret is sealed, and loses the secret at this time.
alter table idempotency_keys add column secret_until timestamptz;
--bun:split
create index idempotency_keys_secret_idx on idempotency_keys (secret_until) where secret_until is not null;
