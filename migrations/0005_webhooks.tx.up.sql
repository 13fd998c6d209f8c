-- Webhook endpoints and deliveries.

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
    constraint webhook_endpoints_status_check check (status in ('enabled', 'disabled')),
    constraint webhook_endpoints_partner_fkey foreign key (partner) references partners (slug)
);
comment on table webhook_endpoints is
    'Addresses to which a partner wants its events delivered.';
comment on column webhook_endpoints.ordered is 'Whether the events of one subject are delivered in order.';
comment on column webhook_endpoints.disabled_reason is 'Why the service disabled the endpoint, in the partner''s words; null if the partner did it.';
comment on column webhook_endpoints.secret is 'Signing secret, sealed with the configured key.';
comment on column webhook_endpoints.former_secret is 'The secret before a rotation, sealed. It signs too until former_until.';
comment on column webhook_endpoints.deleted_at is 'Set when the partner deleted the endpoint. A sweep deletes the row after its deliveries.';
create unique index webhook_endpoints_partner_reference_key on webhook_endpoints (partner, partner_reference) where partner_reference is not null and deleted_at is null;
create index webhook_endpoints_partner_idx on webhook_endpoints (partner, id desc) where deleted_at is null;

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
comment on table webhook_progress is
    'Delivery progress of an endpoint, apart from the endpoint because it changes with every batch. At most one delivery run works an endpoint: the one whose lease_id is here.';
comment on column webhook_progress.active is 'False while the endpoint is disabled or deleted: nothing is delivered.';
comment on column webhook_progress.cursor is 'Sequence up to which every event was tried at least once.';
comment on column webhook_progress.due_at is 'When a run must start; null if nothing is due.';
comment on column webhook_progress.lease_id is 'The delivery run that works the endpoint.';
comment on column webhook_progress.lease_expires_at is 'When the run counts as dead unless it renews its lease.';
comment on column webhook_progress.failures is 'Failed attempts since the last success.';
comment on column webhook_progress.failing_since is 'Time of the first of these failures.';
comment on column webhook_progress.next_probe_at is 'Earliest time to try another new event; null unless the endpoint is failing.';
comment on column webhook_progress.batch_limit is 'New events in one batch; halved after failures and doubled after successes.';
create index webhook_progress_partner_idx on webhook_progress (partner) where active;
create index webhook_progress_due_idx on webhook_progress (due_at) where active;

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
comment on table deliveries is
    'One event sent to one endpoint. The first attempt creates the row, which holds all attempts.';
comment on column deliveries.sequence is 'Sequence of the event in the partner''s feed.';
comment on column deliveries.subject_id is 'The event''s subject: an ordered endpoint waits for earlier events of the subject.';
comment on column deliveries.status is 'parked: all attempts failed; it is sent again when the partner asks for it.';
comment on column deliveries.attempts_in_round is 'Attempts since the creation or the last manual retry.';
comment on column deliveries.attempts is 'All attempts, as the API shows them.';
comment on column deliveries.next_attempt_at is 'When a pending delivery is tried again.';
create index deliveries_endpoint_idx on deliveries (endpoint_id, partner, id desc);
create index deliveries_pending_idx on deliveries (endpoint_id, next_attempt_at) where status = 'pending';
create index deliveries_parked_idx on deliveries (endpoint_id, sequence) where status = 'parked';
create index deliveries_created_idx on deliveries using brin (created_at);
-- No foreign key to events: the lock would write the page of each delivered event once more. The event is read before its
-- delivery is made, and events are never deleted.
-- Most deliveries are created as delivered; the few others are listed by this index.
create index deliveries_undelivered_idx on deliveries (endpoint_id, partner, status, id desc) where status <> 'delivered';
