-- Registration of hazard sources: who may report what.

create table sources (
    name text constraint sources_pkey primary key,
    perils text[] not null,
    stages text[] not null,
    token_subjects text[] not null default '{}',
    enabled boolean not null default true,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint sources_name_check check (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    constraint sources_perils_check check (cardinality(perils) > 0),
    constraint sources_stages_check check (cardinality(stages) > 0)
);
comment on table sources is
    'Hazard sources that operators registered. An observation of another source is refused.';
comment on column sources.name is 'The name in observations, in products and in the claim source of tokens. It never changes.';
comment on column sources.perils is 'What its observations may measure: earthquake, windstorm, rainfall, temperature.';
comment on column sources.stages is 'Stages in which it reports: preliminary, final. Every source may retract.';
comment on column sources.token_subjects is 'Subjects whose tokens may report for it; empty for every token that names it.';
comment on column sources.enabled is 'Whether new observations are accepted. Those recorded earlier stay.';

insert into sources (name, perils, stages, created_at, updated_at) values
    ('usgs', '{earthquake}', '{preliminary,final}', now(), now()),
    ('emsc', '{earthquake}', '{preliminary,final}', now(), now()),
    ('nhc', '{windstorm}', '{preliminary,final}', now(), now()),
    ('ghcn', '{rainfall,temperature}', '{preliminary,final}', now(), now());

-- Sources that reported before they could be registered go on reporting. The index on
-- (source, id) is probed once for each of them.
with recursive known as (
    (select source from observations order by source limit 1)
    union all
    select (select o.source from observations o where o.source > k.source order by o.source limit 1) from known k where k.source is not null
)
insert into sources (name, perils, stages, created_at, updated_at)
select source, '{earthquake,windstorm,rainfall,temperature}', '{preliminary,final}', now(), now() from known where source is not null
on conflict do nothing;

alter table feed_polls add column failing_since timestamptz;
comment on column feed_polls.failing_since is 'The first failed poll since the last success; null while polls succeed.';
