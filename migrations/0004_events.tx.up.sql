-- Events, their sequence in a partner's feed, checkpoints and redactions.

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
comment on table events is
    'Events, as partners receive them. Insert-only, written in the transaction of the change; the relay assigns the sequence (event_sequence). Erasure of personal data alone replaces data: see event_redactions.';
comment on column events.subject_type is 'Type of the changed record: quote, policy, claim, payout and so on.';
comment on column events.subject_version is 'Version of the record after the change.';
comment on column events.data is 'The body of the event, exactly the bytes that are sent and hashed.';
create index events_subject_idx on events (subject_id);
-- No foreign key from events and event_outbox to partners: every transaction of a partner would lock one and the same row, and
-- the records that events are about have one.

create sequence event_outbox_ordinal_seq as bigint;
create table event_outbox (
    ordinal bigint constraint event_outbox_pkey primary key default case when pg_current_xact_id() is not null then nextval('event_outbox_ordinal_seq') end,
    partner text not null,
    event_id uuid not null
);
comment on table event_outbox is
    'Events that have no sequence yet. Inserted with the event; the relay deletes the row when it assigns the sequence.';
comment on column event_outbox.ordinal is 'Order of insertion. The default draws the transaction id first, so that the relay can tell when a gap cannot be filled any more.';
alter sequence event_outbox_ordinal_seq owned by event_outbox.ordinal;
-- No foreign key from event_outbox to events: both rows are inserted by one statement, and the relay deletes this one.

create table event_relay (
    only_row boolean not null default true,
    last_ordinal bigint not null default 0,
    pending_gaps int8multirange not null default '{}',
    checkpoint_ordinal bigint not null default 0,
    checkpoint_xid xid8 not null default '0',
    generation bigint not null default 0,
    constraint event_relay_pkey primary key (only_row),
    constraint event_relay_only_row_check check (only_row)
);
comment on table event_relay is
    'Progress of the relay, one row. The process that holds the relay''s advisory lock changes it.';
comment on column event_relay.last_ordinal is 'The highest ordinal that has a sequence. The outbox is read above it, so that deleted rows that are not vacuumed yet are not visited again.';
comment on column event_relay.pending_gaps is 'Ordinals below last_ordinal that were not visible when it passed them: transactions that commit late, or never.';
comment on column event_relay.checkpoint_ordinal is 'When every transaction up to checkpoint_xid has ended, no gap up to this ordinal can be filled any more.';
comment on column event_relay.checkpoint_xid is 'See checkpoint_ordinal.';
comment on column event_relay.generation is 'Grows with every pass that assigned a sequence; readers that wait for events compare it.';
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
comment on table event_sequence is
    'Position of each event in its partner''s feed, without gaps, with the hash chain. Written by the relay.';
comment on column event_sequence.sequence is '1, 2, 3 … per partner. A cause comes before its effect.';
comment on column event_sequence.generation is 'Generation of the feed: 1, or one more for every restore of the database. See feed_generations.';
comment on column event_sequence.type is 'Type of the event, copied so that a feed of some types reads an index.';
comment on column event_sequence.hash is 'SHA-256 over the hash of the sequence before and the event: see model/verify.go.';
create index event_sequence_type_idx on event_sequence (partner, type, sequence);

create table feed_generations (
    partner text not null,
    generation integer not null,
    continues_after bigint not null,
    restored_at timestamptz not null,
    constraint feed_generations_pkey primary key (partner, generation),
    constraint feed_generations_partner_fkey foreign key (partner) references partners (slug),
    constraint feed_generations_generation_check check (generation > 1)
);
comment on table feed_generations is
    'Restores of the database, as a partner''s feed shows them, from generation 2 on. Written when an operator ends a restore.';
comment on column feed_generations.continues_after is 'Sequences above this one named other events in the generations before.';

create table event_checkpoints (
    partner text not null,
    sequence bigint not null,
    hash bytea not null,
    signed_at timestamptz not null,
    signature bytea not null,
    constraint event_checkpoints_pkey primary key (partner, sequence),
    constraint event_checkpoints_partner_fkey foreign key (partner) references partners (slug)
);
comment on table event_checkpoints is
    'Signed hashes of partners'' feeds, by which a feed whose end was cut off is detected. Written by a periodic job and copied to the file store.';
comment on column event_checkpoints.signature is 'Ed25519 signature of the row.';
create index event_checkpoints_signed_at_idx on event_checkpoints (signed_at);

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
comment on table event_redactions is
    'Events from which personal data was removed. Insert-only. The hash chain goes on from data_hash.';
comment on column event_redactions.data_hash is 'SHA-256 of the event''s data as it was before.';
comment on column event_redactions.redacted_hash is 'SHA-256 of the event''s data as it is now.';
comment on column event_redactions.signature is 'Signature that shows that this service removed what is missing.';
create trigger event_redactions_insert_only before update or delete on event_redactions for each row execute function refuse_change();
create trigger event_redactions_not_truncated before truncate on event_redactions for each statement execute function refuse_change();
