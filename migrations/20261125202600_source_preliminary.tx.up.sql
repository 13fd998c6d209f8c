-- The contract's word is preliminary, for an occurrence, a determination and a reason.
-- Determinations that were made keep the word that their receipt was hashed with.
drop index claims_awaiting_source_idx;
--bun:split
update claims set reason_codes = array_replace(reason_codes, 'source_provisional', 'source_preliminary') where 'source_provisional' = any (reason_codes);
--bun:split
create index claims_awaiting_source_idx on claims (opened_at) where status = 'deferred' and reason_codes = array['source_preliminary'];
