-- Policies, and what limits their sale: capacities and moratoria.

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
    constraint policies_place_check check ((footprint is null) <> (station is null)),
    constraint policies_currency_check check (currency ~ '^[A-Z]{3}$')
);
comment on table policies is
    'Cover in force or past. The columns from kind on are copied from cover for the queries that match policies with occurrences.';
comment on column policies.policyholder is 'Personal data of the policyholder; null when there is none or when it was erased.';
comment on column policies.cover is 'The cover of the quote.';
comment on column policies.premium_amount is 'Premium in minor units of currency.';
comment on column policies.limit_amount is 'The most that the policy pays, in minor units of currency.';
comment on column policies.limit_remaining is 'What is left of the limit after the approved claims.';
comment on column policies.payable_from is 'End of the waiting period: what happens earlier is not paid.';
comment on column policies.reportable_until is 'Until then occurrences within the term are matched; then the policy is archived.';
comment on column policies.kind is 'The peril: kind of observation that triggers the cover.';
comment on column policies.footprint is 'Of earthquake and storm: bounding box in degrees, (longitude, latitude); beyond ±180 across the antimeridian.';
comment on column policies.station is 'Of rainfall: the station.';
comment on column policies.definition is 'Of rainfall: the definition of its occurrences, as in occurrences.';
comment on column policies.days is 'Of rainfall: days that are summed in a wet spell; 0 for months and dekads.';
comment on column policies.threshold is 'Of rainfall: the lowest threshold of the terms, in millimetres.';
create unique index policies_partner_reference_key on policies (partner, partner_reference) where partner_reference is not null;
create index policies_list_idx on policies (partner, id desc);
-- Matching finds policies by place. The status is not part of the index: cover is decided at the time of the occurrence.
create index policies_footprint_idx on policies using gist (footprint) where status <> 'archived' and footprint is not null;
create index policies_station_idx on policies (station, expires_at) where status <> 'archived' and station is not null;
create index policies_due_idx on policies (expires_at) where status in ('active', 'exhausted');
create index policies_archive_due_idx on policies (reportable_until) where status <> 'archived';
create index policies_status_idx on policies (partner, status, product, id desc);
create index policies_definition_idx on policies (station, definition, days, threshold) where status <> 'archived' and station is not null;
alter table quotes add constraint quotes_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner)
    deferrable initially deferred; -- the quote names the policy before the policy is inserted


-- The place of a policy for capacities: its station, or the cell of one degree that contains the centre of its footprint,
-- named by its south-west corner like the tiles of SRTM: N14W091.
create function place_cell(footprint box, station text) returns text immutable parallel safe language sql
return coalesce(station, case when footprint is not null then
    case when (@@ footprint)[1] + 1e-9 < 0 then 'S' else 'N' end || lpad(abs(floor((@@ footprint)[1] + 1e-9)::int)::text, 2, '0')
    || case when ((floor((@@ footprint)[0] + 1e-9)::int + 540) % 360) - 180 < 0 then 'W' else 'E' end
    || lpad(abs(((floor((@@ footprint)[0] + 1e-9)::int + 540) % 360) - 180)::text, 3, '0') end);

create index policies_cell_idx on policies (product, place_cell(footprint, station)) where status = 'active';

create table capacities (
    product text not null,
    cell text not null default '',
    currency text not null,
    amount bigint not null,
    updated_at timestamptz not null,
    author text not null,
    constraint capacities_pkey primary key (product, cell, currency),
    constraint capacities_amount_check check (amount >= 0),
    constraint capacities_currency_check check (currency ~ '^[A-Z]{3}$')
);
comment on table capacities is
    'The most that may be at risk under one product in one cell of one degree. Set by operators.';
comment on column capacities.cell is 'Name of the cell or station, see place_cell(); empty: every cell that has no row of its own.';
comment on column capacities.amount is 'Sum of the limits of active policies, in minor units of currency.';
comment on column capacities.author is 'The operator, as issuer#subject.';

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
    constraint moratoria_occurrence_id_key unique (occurrence_id),
    constraint moratoria_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id)
);
comment on table moratoria is
    'Times and places where no cover is sold: declared by an operator, or by a rule when an event is reported.';
comment on column moratoria.kind is 'The peril; null: all perils.';
comment on column moratoria.radius_km is 'Around latitude and longitude.';
comment on column moratoria.readings is 'Observations of the event that close the places around them, each until a time of its own.';
comment on column moratoria.lifted_at is 'When an operator lifted it.';
comment on column moratoria.occurrence_id is 'The occurrence for which a rule declared it.';
comment on column moratoria.author is 'Who declared it: an operator, as issuer#subject, or parapet.';
create index moratoria_ends_idx on moratoria (ends_at) where lifted_at is null;

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
comment on table moratorium_rules is
    'Operators'' changes to the shipped rules: which events stop sales around them and for how long.';
comment on column moratorium_rules.measure is 'The value of an observation that minimum is compared with.';
comment on column moratorium_rules.radius_km is 'Distance within which sales stop.';
comment on column moratorium_rules.seconds is 'How long sales stop.';
comment on column moratorium_rules.disabled is 'An operator switched the shipped rule of this kind off.';
