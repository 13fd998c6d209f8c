-- A transaction draws its id before the ordinals of its events, whatever else it does
-- before: the relay forgets a gap when every transaction with an id of that time has
-- ended. The identity evaluated nextval before the row's insertion drew the id.
alter table event_outbox alter column ordinal drop identity;
--bun:split
create sequence event_outbox_ordinal_seq as bigint owned by event_outbox.ordinal;
--bun:split
select setval('event_outbox_ordinal_seq', greatest((select high from event_relay), (select coalesce(max(ordinal), 0) from event_outbox)) + 1, false);
--bun:split
alter table event_outbox alter column ordinal
    set default case when pg_current_xact_id() is not null then nextval('event_outbox_ordinal_seq') end;
--bun:split
-- Events that an earlier release passed by are numbered now: late, and never lost.
update event_relay set gaps = gaps + coalesce(
    (select range_agg(int8range(ordinal, ordinal, '[]')) from event_outbox where ordinal <= event_relay.high), '{}');
--bun:split
create or replace view inv_events_are_numbered as
    select e.id as subject, e.partner, 'it has no number and does not wait for one' as wrong
    from events e where not exists (select from event_numbers n where n.event_id = e.id and n.partner = e.partner)
        and not exists (select from event_outbox o where o.event_id = e.id and o.partner = e.partner)
    union all
    select e.id, e.partner, case when o.ordinal > r.high or r.gaps @> o.ordinal then 'it has waited for its number for over a minute'
        else 'the relay has passed it by' end
    from event_relay r cross join event_outbox o join events e on e.id = o.event_id and e.partner = o.partner
    where e.occurred_at < (select clock_timestamp() + shift - interval '60 seconds' from clock)
        or not (o.ordinal > r.high or r.gaps @> o.ordinal);
--bun:split
comment on view inv_events_are_numbered is 'Every event has a number, or has waited for one for less than a minute.';
