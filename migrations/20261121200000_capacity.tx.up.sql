-- Where a policy lies, for accumulation: a station, or the cell of one degree that
-- holds the middle of its footprint, named by its south-west corner as the tiles of
-- SRTM are.
create function place_cell(footprint box, station text) returns text immutable parallel safe language sql
return coalesce(station, case when footprint is not null then
    case when (@@ footprint)[1] + 1e-9 < 0 then 'S' else 'N' end || lpad(abs(floor((@@ footprint)[1] + 1e-9)::int)::text, 2, '0')
    || case when ((floor((@@ footprint)[0] + 1e-9)::int + 540) % 360) - 180 < 0 then 'W' else 'E' end
    || lpad(abs(((floor((@@ footprint)[0] + 1e-9)::int + 540) % 360) - 180)::text, 3, '0') end);
--bun:split
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
--bun:split
create index policies_cell_idx on policies (product, place_cell(footprint, station)) where status = 'active';
--bun:split
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
    starts_at timestamptz not null,
    ends_at timestamptz not null,
    lifted_at timestamptz,
    occurrence_id uuid,
    reason text not null,
    author text not null,
    constraint moratoria_pkey primary key (id),
    constraint moratoria_occurrence_id_key unique (occurrence_id)
);
--bun:split
create index moratoria_ends_idx on moratoria (ends_at) where lifted_at is null;
--bun:split
-- Which fresh events stop sales around them, for how long.
create table moratorium_rules (
    kind text not null,
    measure text not null,
    minimum numeric not null,
    radius_km double precision not null,
    seconds bigint not null,
    updated_at timestamptz not null,
    author text not null,
    constraint moratorium_rules_pkey primary key (kind)
);
