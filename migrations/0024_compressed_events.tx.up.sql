-- Events are stored compressed: their bodies were a third of what a claim writes.

alter table events add column data_hash bytea;
comment on column events.data is
    'The body of the event, whose bytes are sent and hashed: plain, or a Zstandard frame (first byte 0x28) with a dictionary of this program.';
comment on column events.data_hash is 'SHA-256 of the body; null for an event of a release before 0024, whose body is plain.';

-- An older release that runs beside this one would send compressed bodies as they are. A database without events has none:
-- there, compression begins at once. Elsewhere it begins after a later migration raises minimum_binary.
update schema_compatibility set minimum_binary = 24 where not exists (select from events);
