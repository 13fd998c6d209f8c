-- Texts are compressed by S2 from now on: Zstandard took a quarter of the service's processor time in a large event. An older
-- release that runs on the database cannot read them. A database without events and quotes starts with
-- S2. On any other, texts are stored plain until minimum_binary is 47.
comment on column events.data is
    'The body of the event, whose bytes are sent and hashed: plain, or frames of model/kernel/compress (first byte 0x01, or 0x28 of an older release).';
comment on column quotes.offer is
    'An object with the cover, the price, its basis and the history: plain, or frames as in events.data. Null: they are in their own columns.';
update schema_compatibility set minimum_binary = 47 where not exists (select from events) and not exists (select from quotes);
