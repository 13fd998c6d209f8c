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
--bun:split
create trigger event_redactions_insert_only before update or delete on event_redactions for each row execute function refuse_change();
