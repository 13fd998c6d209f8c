-- Webhook endpoints and deliveries.

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
    disabled_reason text,
    secret bytea not null,
    former_secret bytea,
    former_until timestamptz,
    deleted_at timestamptz,
    constraint webhook_endpoints_pkey primary key (id, partner),
    constraint webhook_endpoints_status_check check (status in ('enabled', 'disabled'))
);
create unique index webhook_endpoints_partner_reference_key on webhook_endpoints (partner, partner_reference) where partner_reference is not null and deleted_at is null;
create index webhook_endpoints_partner_idx on webhook_endpoints (partner, id desc) where deleted_at is null;

-- How far an endpoint has come, apart from the endpoint's record: it changes with
-- every batch that is sent. At most one drain works an endpoint: the one whose token
-- stands here.
create table webhook_progress (
    endpoint_id uuid not null,
    partner text not null,
    active boolean not null,
    cursor bigint not null,
    due_at timestamptz,
    lease_id uuid,
    lease_expires_at timestamptz,
    failures bigint not null default 0,
    failing_since timestamptz,
    next_probe_at timestamptz,
    batch_limit integer not null,
    constraint webhook_progress_pkey primary key (endpoint_id, partner),
    constraint webhook_progress_endpoint_id_fkey foreign key (endpoint_id, partner) references webhook_endpoints (id, partner) on delete cascade
);
create index webhook_progress_partner_idx on webhook_progress (partner) where active;
create index webhook_progress_due_idx on webhook_progress (due_at) where active;

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
    attempts_in_round integer not null,
    attempts json not null,
    next_attempt_at timestamptz,
    constraint deliveries_pkey primary key (id, partner),
    constraint deliveries_endpoint_id_fkey foreign key (endpoint_id, partner) references webhook_endpoints (id, partner) on delete cascade,
    constraint deliveries_status_check check (status in ('pending', 'delivered', 'parked'))
);
create index deliveries_endpoint_idx on deliveries (endpoint_id, partner, id desc);
create index deliveries_pending_idx on deliveries (endpoint_id, next_attempt_at) where status = 'pending';
create index deliveries_parked_idx on deliveries (endpoint_id, sequence) where status = 'parked';
create index deliveries_created_idx on deliveries using brin (created_at);
-- A delivery is written delivered, mostly: what is not is few, and listed by this.
create index deliveries_undelivered_idx on deliveries (endpoint_id, partner, status, id desc) where status <> 'delivered';
