-- While a restore is open no event is numbered, so the minute of those that wait begins
-- when it ends. Counted from the event, the resumption right after a restore was refused.
create or replace view inv_events_are_numbered as
    select e.id as subject, e.partner, 'it has no number and does not wait for one' as wrong
    from events e where not exists (select from event_numbers n where n.event_id = e.id and n.partner = e.partner)
        and not exists (select from event_outbox o where o.event_id = e.id and o.partner = e.partner)
    union all
    select e.id, e.partner, case when o.ordinal > r.high or r.gaps @> o.ordinal then 'it has waited for its number for over a minute'
        else 'the relay has passed it by' end
    from event_relay r cross join event_outbox o join events e on e.id = o.event_id and e.partner = o.partner
    where greatest(e.occurred_at, (select max(ended_at) from database_restores)) < (select clock_timestamp() + shift - interval '60 seconds' from clock)
            and not exists (select from database_restores where ended_at is null)
        or not (o.ordinal > r.high or r.gaps @> o.ordinal);
