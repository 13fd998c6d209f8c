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

-- How many requests each caller may still make, shared by all nodes. Unlogged: after a crash every caller has a full budget.
create unlogged table rate_buckets (
    caller text constraint rate_buckets_pkey primary key,
    tokens double precision not null,
    granted integer not null,
    refilled_at timestamptz not null
);
