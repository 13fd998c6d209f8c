-- How far the relay has numbered events. One row: whoever holds the relay's
-- advisory lock changes it.
create table event_relay (
    one boolean not null default true,
    -- The highest ordinal that was ever numbered. The outbox is read above it, so
    -- rows that were deleted but cannot be vacuumed yet are never visited again.
    high bigint not null default 0,
    -- Ordinals below high that were not visible when high passed them: changes
    -- that commit late, or never.
    gaps int8multirange not null default '{}',
    -- When every transaction up to noted_xid has ended, no gap up to noted_high
    -- can fill any more.
    noted_high bigint not null default 0,
    noted_xid xid8 not null default '0',
    -- Grows with every pass that numbered something; readers who wait look at it.
    passes bigint not null default 0,
    constraint event_relay_pkey primary key (one),
    constraint event_relay_one_check check (one)
);
--bun:split
insert into event_relay default values;
