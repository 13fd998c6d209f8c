-- The wait of an event for its sequence was measured from the time in its id, which is the clock of the process that wrote
-- it, to the clock of the database. A process whose clock was a minute behind made all its events late, and releases stopped.

alter table event_outbox add column if not exists queued_at timestamptz;
alter table event_outbox alter column queued_at set default clock_timestamp();
comment on column event_outbox.queued_at is 'When the row was written, by the clock of the database. Null for rows from before the column.';

create or replace view inv_events_sequenced as
    select e.id as subject, e.partner, 'it has no sequence and does not wait for one' as message
    from events e where not exists (select from event_sequence n where n.event_id = e.id and n.partner = e.partner)
        and not exists (select from event_outbox o where o.event_id = e.id and o.partner = e.partner)
    union all
    select e.id, e.partner, case when o.ordinal > r.last_ordinal or r.pending_gaps @> o.ordinal then 'it has waited for its sequence for over a minute'
        else 'the relay has skipped it' end
    from event_relay r cross join event_outbox o join events e on e.id = o.event_id and e.partner = o.partner
    where coalesce(o.queued_at < clock_timestamp() - interval '60 seconds', e.id < lowest_uuid(clock_timestamp() - interval '60 seconds'))
            and not exists (select from database_restores where ended_at is null or coalesce(events_resumed_at, ended_at) >= clock_timestamp() - interval '60 seconds')
        or not (o.ordinal > r.last_ordinal or r.pending_gaps @> o.ordinal);
