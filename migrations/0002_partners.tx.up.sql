-- Partners and their request budgets.

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
comment on table partners is
    'Partners: the tenants of the service. Every partner-owned table carries the slug.';
comment on column partners.slug is 'The partner''s identifier in tokens, paths and every other table. It never changes.';
comment on column partners.status is 'A disabled partner''s requests are refused; its payouts and deliveries go on.';

create unlogged table rate_buckets (
    caller text constraint rate_buckets_pkey primary key,
    tokens double precision not null,
    granted integer not null,
    refilled_at timestamptz not null
);
comment on table rate_buckets is
    'Request budget of each caller, shared by all nodes (token bucket). Unlogged: after a crash every caller has a full budget. Written by Quota.Lease.';
comment on column rate_buckets.caller is 'Who makes the requests, as the API layer names the caller.';
comment on column rate_buckets.tokens is 'Requests left at refilled_at.';
comment on column rate_buckets.granted is 'Requests that the last lease gave to a node.';
comment on column rate_buckets.refilled_at is 'When tokens was computed.';
