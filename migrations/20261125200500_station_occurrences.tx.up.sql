-- Occurrences at a station are shared by all policies: wet spells, months and dekads by a definition. Until now
-- windows of days belonged to policies; those that were claimed stay readable, under the definition "window".
alter table occurrences add column station text, add column definition text;
--bun:split
update occurrences set station = regexp_replace(source_event_id, '/[0-9-]{10}$', ''), definition = 'window' where kind = 'station_day';
--bun:split
alter table occurrences
    drop constraint occurrences_source_event_key,
    add constraint occurrences_source_event_key unique nulls not distinct (scope, source, kind, source_event_id, definition),
    add constraint occurrences_station_check check ((kind = 'station_day') = (station is not null and definition is not null));
--bun:split
create index occurrences_station_idx on occurrences (station, definition, source, scope, occurred_at) where station is not null;
--bun:split
-- The days that make up an index: no day pays twice under a policy.
alter table determinations add column first_day date, add column last_day date,
    add constraint determinations_days_check check ((first_day is null) = (last_day is null) and first_day <= last_day);
--bun:split
update determinations d set first_day = (oc.occurred_at at time zone 'UTC')::date - greatest(coalesce((p.cover #>> '{trigger,days}')::int, 1), 1) + 1,
        last_day = (oc.occurred_at at time zone 'UTC')::date
    from occurrences oc, policies p
    where oc.id = d.occurrence_id and oc.kind = 'station_day' and p.id = d.policy_id and p.partner = d.partner;
--bun:split
update occurrences oc set occurred_at = f.first_day::timestamp at time zone 'UTC'
    from (select occurrence_id, min(first_day) as first_day from determinations where first_day is not null group by occurrence_id) f
    where f.occurrence_id = oc.id;
--bun:split
-- What finds the policies that an index at a station can pay. Covers bound before their terms named a definition count
-- as trigger.Definition says: an excess by spells of at least 1 mm that three drier days end, a deficit by months.
alter table policies add column definition text, add column days int, add column threshold numeric;
--bun:split
update policies set
    definition = coalesce(cover #>> '{trigger,calendar}', case
        when cover #>> '{trigger,wet_mm}' is not null
            then 'spell/' || trim_scale((cover #>> '{trigger,wet_mm}')::numeric)::text || '/' || (cover #>> '{trigger,dry_days}')
        when cover #>> '{trigger,direction}' = 'at_most' then 'month' else 'spell/1/3' end),
    days = case when cover #>> '{trigger,direction}' = 'at_most' then 0 else (cover #>> '{trigger,days}')::int end,
    threshold = coalesce(cover #>> '{payout,threshold}', cover #>> '{payout,attach}', cover #>> '{payout,steps,0,threshold}')::numeric
    where station is not null;
--bun:split
create index policies_definition_idx on policies (station, definition, days, threshold) where status <> 'archived' and station is not null;
