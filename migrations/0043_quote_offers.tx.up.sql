-- The four large members of a quote are stored once, compressed: they were most of what a quote and its bind write.

alter table quotes add column if not exists offer bytea,
    alter column cover drop not null, alter column price drop not null, alter column basis drop not null, alter column history drop not null,
    add constraint quotes_offer_check check (num_nulls(cover, price, basis, history) = case when offer is null then 0 else 4 end) not valid;
comment on column quotes.offer is
    'An object with the cover, the price, its basis and the history: plain, or a Zstandard frame (first byte 0x28) with a dictionary of this program. Null: they are in their own columns.';

-- An older release that runs on the database reads the four columns. A database without quotes has none of them: there,
-- offers begin at once. Elsewhere they begin after a later migration raises minimum_binary.
update schema_compatibility set minimum_binary = 43 where not exists (select from quotes);
