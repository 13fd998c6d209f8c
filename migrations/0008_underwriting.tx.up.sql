-- Policies, and the limits and stops of what is sold.

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
    definition text,
    days int,
    threshold numeric,
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
create unique index policies_partner_reference_key on policies (partner, partner_reference) where partner_reference is not null;
create index policies_list_idx on policies (partner, id desc);
-- Matching finds policies by where they are; status is not asked, because cover is judged at the occurrence's time.
create index policies_footprint_idx on policies using gist (footprint) where status <> 'archived' and footprint is not null;
create index policies_station_idx on policies (station, expires_at) where status <> 'archived' and station is not null;
create index policies_due_idx on policies (expires_at) where status in ('active', 'exhausted');
create index policies_archive_due_idx on policies (reportable_until) where status <> 'archived';
create index policies_status_idx on policies (partner, status, product, id desc);
create index policies_definition_idx on policies (station, definition, days, threshold) where status <> 'archived' and station is not null;

-- Where a policy lies, for accumulation: a station, or the cell of one degree that
-- holds the middle of its footprint, named by its south-west corner as the tiles of
-- SRTM are.
create function place_cell(footprint box, station text) returns text immutable parallel safe language sql
return coalesce(station, case when footprint is not null then
    case when (@@ footprint)[1] + 1e-9 < 0 then 'S' else 'N' end || lpad(abs(floor((@@ footprint)[1] + 1e-9)::int)::text, 2, '0')
    || case when ((floor((@@ footprint)[0] + 1e-9)::int + 540) % 360) - 180 < 0 then 'W' else 'E' end
    || lpad(abs(((floor((@@ footprint)[0] + 1e-9)::int + 540) % 360) - 180)::text, 3, '0') end);

create index policies_cell_idx on policies (product, place_cell(footprint, station)) where status = 'active';

-- What may be at risk of one product in one cell; a row without a cell is for every
-- cell that has none of its own.
create table capacities (
    product text not null,
    cell text not null default '',
    currency text not null,
    amount bigint not null,
    updated_at timestamptz not null,
    author text not null,
    constraint capacities_pkey primary key (product, cell, currency),
    constraint capacities_amount_check check (amount >= 0)
);

-- Times and places where no cover is sold.
create table moratoria (
    id uuid not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    kind text,
    latitude double precision,
    longitude double precision,
    radius_km double precision,
    station text,
    readings json,
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    lifted_at timestamptz,
    occurrence_id uuid,
    reason text not null,
    author text not null,
    constraint moratoria_pkey primary key (id),
    constraint moratoria_occurrence_id_key unique (occurrence_id)
);
create index moratoria_ends_idx on moratoria (ends_at) where lifted_at is null;

-- Which fresh events stop sales around them, for how long.
create table moratorium_rules (
    kind text not null,
    measure text not null,
    minimum numeric not null,
    radius_km double precision not null,
    seconds bigint not null,
    updated_at timestamptz not null,
    author text not null,
    disabled boolean not null default false,
    constraint moratorium_rules_pkey primary key (kind)
);
