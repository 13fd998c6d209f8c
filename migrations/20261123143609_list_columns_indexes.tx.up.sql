create index claims_state_idx on claims (partner, status, product, id desc);
--bun:split
create index event_numbers_type_idx on event_numbers (partner, type, sequence);
