-- Which database this is and how far it has come. What the file store has of it is
-- compared: a database that was set back by a restore is behind.
create table database_identity (
    one boolean not null default true,
    -- Names this database through copies and moves; a new one has another.
    lineage uuid not null default gen_random_uuid(),
    -- Of the cluster it was seen on last; null before the first heartbeat.
    system_identifier text,
    timeline bigint,
    -- Grows with every heartbeat of the workers.
    heartbeat bigint not null default 0,
    heartbeat_at timestamptz not null default clock_timestamp(),
    -- Checkpoints signed until then are in the file store too.
    checkpoints_saved_at timestamptz not null default '-infinity',
    constraint database_identity_pkey primary key (one),
    constraint database_identity_one_check check (one)
);
--bun:split
insert into database_identity default values;
--bun:split
create index event_checkpoints_signed_at_idx on event_checkpoints (signed_at);
--bun:split
-- Restores of the database from a backup: noticed by a server or begun by an operator,
-- and how each ended. While one is open no payout is sent and no event is numbered.
create table database_restores (
    id uuid not null,
    noticed_at timestamptz not null,
    noticed_by text not null,
    signs text not null,
    -- The last heartbeat that the file store has.
    marked_heartbeat bigint not null,
    stop_id uuid,
    begun_at timestamptz,
    begun_by text,
    begin_reason text,
    ended_at timestamptz,
    ended_by text,
    end_reason text,
    outcome text,
    constraint database_restores_pkey primary key (id),
    constraint database_restores_stop_id_fkey foreign key (stop_id) references release_stops (id),
    constraint database_restores_outcome_check check (outcome in ('finished', 'dismissed') and (outcome is null) = (ended_at is null))
);
--bun:split
create unique index database_restores_open_key on database_restores ((true)) where ended_at is null;
--bun:split
-- A restore begins a new generation of every partner's feed, from 2 on: sequences above
-- continues_after named other events in the generations before.
create table feed_generations (
    partner text not null,
    generation integer not null,
    continues_after bigint not null,
    restored_at timestamptz not null,
    constraint feed_generations_pkey primary key (partner, generation),
    constraint feed_generations_partner_fkey foreign key (partner) references partners (slug),
    constraint feed_generations_generation_check check (generation > 1)
);
--bun:split
alter table event_numbers add column generation integer not null default 1;
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
            and not exists (select from database_restores where ended_at is null)
        or not (o.ordinal > r.high or r.gaps @> o.ordinal);
