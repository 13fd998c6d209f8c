-- Events, their sequence in a partner's feed, checkpoints and redactions.

-- Insert-only; data is the exact bytes that are sent. Number and hash stand in event_numbers.
create table events (
    id uuid not null,
    partner text not null,
    type text not null,
    subject_type text not null,
    subject_id uuid not null,
    subject_version bigint not null,
    occurred_at timestamptz not null,
    data bytea not null,
    constraint events_pkey primary key (id, partner)
);
create index events_subject_idx on events (subject_id);

create sequence event_outbox_ordinal_seq as bigint;
create table event_outbox (
    ordinal bigint constraint event_outbox_pkey primary key default case when pg_current_xact_id() is not null then nextval('event_outbox_ordinal_seq') end,
    partner text not null,
    event_id uuid not null
);
alter sequence event_outbox_ordinal_seq owned by event_outbox.ordinal;

-- How far the relay has numbered events. One row: whoever holds the relay's
-- advisory lock changes it.
create table event_relay (
    only_row boolean not null default true,
    -- The highest ordinal that was ever numbered. The outbox is read above it, so
    -- rows that were deleted but cannot be vacuumed yet are never visited again.
    last_ordinal bigint not null default 0,
    -- Ordinals below last_ordinal that were not visible when last_ordinal passed them: changes
    -- that commit late, or never.
    pending_gaps int8multirange not null default '{}',
    -- When every transaction up to checkpoint_xid has ended, no gap up to checkpoint_ordinal
    -- can fill any more.
    checkpoint_ordinal bigint not null default 0,
    checkpoint_xid xid8 not null default '0',
    -- Grows with every pass that numbered something; readers who wait look at it.
    generation bigint not null default 0,
    constraint event_relay_pkey primary key (only_row),
    constraint event_relay_only_row_check check (only_row)
);
insert into event_relay default values;

create table event_sequence (
    partner text not null,
    sequence bigint not null,
    generation integer not null default 1,
    event_id uuid not null,
    type text,
    hash bytea not null,
    constraint event_sequence_pkey primary key (partner, sequence),
    constraint event_sequence_event_id_key unique (event_id, partner),
    constraint event_sequence_event_id_fkey foreign key (event_id, partner) references events (id, partner)
);
create index event_sequence_type_idx on event_sequence (partner, type, sequence);

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

-- What a partner's history was at a time, signed, so that an end that was cut off
-- is missed.
create table event_checkpoints (
    partner text not null,
    sequence bigint not null,
    hash bytea not null,
    signed_at timestamptz not null,
    signature bytea not null,
    constraint event_checkpoints_pkey primary key (partner, sequence)
);
create index event_checkpoints_signed_at_idx on event_checkpoints (signed_at);

-- Events that lost the personal data in them. The chain goes on from data_hash, what the event once was; signature says that
-- it was us who took out what is missing. Insert-only.
create table event_redactions (
    event_id uuid not null,
    partner text not null,
    redacted_at timestamptz not null,
    data_hash bytea not null,
    redacted_hash bytea not null,
    signature bytea not null,
    constraint event_redactions_pkey primary key (event_id, partner),
    constraint event_redactions_event_id_fkey foreign key (event_id, partner) references events (id, partner)
);
create trigger event_redactions_insert_only before update or delete on event_redactions for each row execute function refuse_change();
create trigger event_redactions_not_truncated before truncate on event_redactions for each statement execute function refuse_change();
