-- An order that waits for its file is in no batch: the index of batches need not hold it.
drop index bank_entries_batch_idx;
--bun:split
create index bank_entries_batch_idx on bank_entries (batch_id, key) where batch_id is not null;
