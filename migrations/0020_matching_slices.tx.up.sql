-- Matching in slices: what an occurrence may affect is found once and decided in parts.

create table matchings (
    occurrence_id uuid not null,
    version bigint not null,
    candidates integer not null,
    started_at timestamptz not null,
    completed_at timestamptz,
    constraint matchings_pkey primary key (occurrence_id, version),
    constraint matchings_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id),
    constraint matchings_candidates_check check (candidates >= 0)
);
comment on table matchings is
    'The matching of one version of an occurrence to policies. Every version of an occurrence that is not merged has one.';
comment on column matchings.version is 'Version of the occurrence.';
comment on column matchings.candidates is 'Policies in its slices.';
comment on column matchings.completed_at is 'When the last slice was decided; null while one is left.';

create table matching_slices (
    occurrence_id uuid not null,
    version bigint not null,
    number integer not null,
    candidates integer not null,
    policies uuid[] not null,
    attempts integer not null default 0,
    due_at timestamptz not null,
    error text,
    done_at timestamptz,
    constraint matching_slices_pkey primary key (occurrence_id, version, number),
    constraint matching_slices_matching_fkey foreign key (occurrence_id, version) references matchings (occurrence_id, version),
    constraint matching_slices_policies_check check (cardinality(policies) > 0)
);
comment on table matching_slices is
    'Disjoint parts of the policies that an occurrence may affect. A worker locks a slice, decides its policies and marks it done in one transaction.';
comment on column matching_slices.number is '1, 2, 3 … within the matching.';
comment on column matching_slices.candidates is 'Policies of all slices that were written with it: slices of small events go first.';
comment on column matching_slices.policies is 'Ids, ascending.';
comment on column matching_slices.attempts is 'Failed attempts. A slice that fails three times is halved.';
comment on column matching_slices.due_at is 'Not before; later after a failure.';
comment on column matching_slices.error is 'Why the last attempt failed.';
comment on column matching_slices.done_at is 'When its policies were decided.';
create index matching_slices_due_idx on matching_slices (candidates, occurrence_id, version, number) where done_at is null;
create index matching_slices_done_idx on matching_slices (done_at) where done_at is not null;

insert into matchings (occurrence_id, version, candidates, started_at, completed_at)
select id, version, 0, updated_at, updated_at from occurrences where merged_into is null;
create index matchings_incomplete_idx on matchings (occurrence_id) where completed_at is null;

create view inv_matchings as
    select oc.id as subject, coalesce(nullif(oc.scope, ''), 'all partners') as partner, format('its version %s was not matched to policies within a day', oc.version) as message
    from occurrences oc where oc.merged_into is null and oc.updated_at < (select clock_timestamp() + offset_interval - interval '1 day' from clock)
        and not exists (select from matchings ma where ma.occurrence_id = oc.id and ma.version = oc.version)
    union all
    select oc.id, coalesce(nullif(oc.scope, ''), 'all partners'),
        case when ma.completed_at is null then format('the matching of its version %s was not completed within a day', ma.version)
            else format('the matching of its version %s is complete, and policies of it wait', ma.version) end
    from matchings ma join occurrences oc on oc.id = ma.occurrence_id
    where (ma.completed_at is not null or ma.started_at < (select clock_timestamp() + offset_interval - interval '1 day' from clock))
        and exists (select from matching_slices ms where ms.occurrence_id = ma.occurrence_id and ms.version = ma.version and ms.done_at is null
            and (ms.attempts < 3 or ma.completed_at is not null));
comment on view inv_matchings is 'Every version of an occurrence is matched to policies within a day, and a complete matching has no slice left. Policies that cannot be decided have an alarm of their own.';
