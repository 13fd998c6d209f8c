-- "Waits for its sequence for over a minute" was measured by business time: when the clock of a rehearsal server moved
-- forward, events of the last seconds counted as late, and releases stopped. Ids have the time of the server's clock, which
-- does not move with business time. So has the new column, for the end of a restore.

alter table database_restores add column if not exists events_resumed_at timestamptz;
comment on column database_restores.events_resumed_at is 'When events could get sequences again, by the clock of the database, whatever the business time is. Null while the restore is open.';
update database_restores set events_resumed_at = least(ended_at, clock_timestamp()) where ended_at is not null and events_resumed_at is null;

create or replace view inv_events_sequenced as
    select e.id as subject, e.partner, 'it has no sequence and does not wait for one' as message
    from events e where not exists (select from event_sequence n where n.event_id = e.id and n.partner = e.partner)
        and not exists (select from event_outbox o where o.event_id = e.id and o.partner = e.partner)
    union all
    select e.id, e.partner, case when o.ordinal > r.last_ordinal or r.pending_gaps @> o.ordinal then 'it has waited for its sequence for over a minute'
        else 'the relay has skipped it' end
    from event_relay r cross join event_outbox o join events e on e.id = o.event_id and e.partner = o.partner
    where e.id < (select lowest_uuid(clock_timestamp() - interval '60 seconds'))
            and not exists (select from database_restores where ended_at is null or coalesce(events_resumed_at, ended_at) >= clock_timestamp() - interval '60 seconds')
        or not (o.ordinal > r.last_ordinal or r.pending_gaps @> o.ordinal);
