-- Orders that bank files leave out: those that are not what was accepted, until they are readmitted, and for ever those that
-- were settled before they were written.
alter table bank_entries
    add column set_aside_at timestamptz,
    add column settled_at timestamptz,
    add constraint bank_entries_left_out_check check (set_aside_at is null and settled_at is null or batch_id is null);
--bun:split
create index bank_entries_aside_idx on bank_entries (rail, key) where set_aside_at is not null;
--bun:split
-- The digest of a batch's file from before it is put anywhere: from then on its orders stay as they are.
alter table bank_batches add column sealed_digest text;
