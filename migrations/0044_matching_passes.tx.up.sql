-- The second pass of a matching existed only as a job: a job that was cancelled or that failed for good left policies
-- that were bound during the first pass without a decision, and the matching was complete all the same.

alter table matchings add column if not exists pass_after text, add column if not exists pass_due_at timestamptz,
    add constraint matchings_pass_check check ((pass_after is null) = (pass_due_at is null)) not valid;
alter table matchings validate constraint matchings_pass_check;
comment on column matchings.pass_after is 'What the job of the pass that is left waits for: empty for the first pass, the transactions that were binding policies for the second. Null if no pass is left.';
comment on column matchings.pass_due_at is 'When the job of the pass counts as lost, and the sweep enqueues another one.';
comment on column matchings.completed_at is 'When the last slice was decided; null while a slice or a pass is left.';
create index if not exists matchings_pass_due_idx on matchings (pass_due_at) where pass_due_at is not null;
create index if not exists occurrences_updated_idx on occurrences (updated_at) where merged_into is null;
-- The newest events with candidates; most events have none.
create index if not exists matchings_affecting_idx on matchings (occurrence_id, candidates) where candidates > 0;

create or replace view inv_matchings as
    select oc.id as subject, coalesce(nullif(oc.scope, ''), 'all partners') as partner, format('its version %s was not matched to policies within a day', oc.version) as message
    from occurrences oc where oc.merged_into is null and oc.updated_at < (select clock_timestamp() + offset_interval - interval '1 day' from clock)
        and not exists (select from matchings ma where ma.occurrence_id = oc.id and ma.version = oc.version)
    union all
    select oc.id, coalesce(nullif(oc.scope, ''), 'all partners'),
        case when ma.completed_at is null then format('the matching of its version %s was not completed within a day', ma.version)
            else format('the matching of its version %s is complete, and policies of it wait', ma.version) end
    from matchings ma join occurrences oc on oc.id = ma.occurrence_id
    where ma.completed_at is null and ma.started_at < (select clock_timestamp() + offset_interval - interval '1 day' from clock)
            and (ma.pass_after is not null or exists (select from matching_slices ms where ms.occurrence_id = ma.occurrence_id and ms.version = ma.version and ms.done_at is null and ms.attempts < 3))
        or ma.completed_at is not null and exists (select from matching_slices ms where ms.occurrence_id = ma.occurrence_id and ms.version = ma.version and ms.done_at is null);
