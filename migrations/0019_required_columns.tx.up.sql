-- Columns that every row has.

update schema_compatibility set minimum_binary = 19;
alter table event_sequence alter column type set not null;
alter table claims alter column product set not null;
alter table claims add constraint claims_occurrence_has_key_check check ((occurrence_id is null) = (occurrence_key is null));
alter table payouts alter column debt_digest set not null;
-- The key of a payout is unique without exception.
drop index payouts_rail_key_key;
create unique index payouts_rail_key_key on payouts (policy_id, debt_digest, idempotency_seq, partner);
