-- The rail's idempotency key says what is owed and not which row owes it: <policy id>.<debt_digest>.<key_number>. A claim keeps
-- the natural identity of its occurrence from the moment it is opened, so that later merges of occurrences change no key. A
-- payout without a digest was made by the previous release and keeps its old keys, <payout id>.<key_number>.
alter table claims add column occurrence_key text;
--bun:split
update claims c set occurrence_key = coalesce(nullif(oc.scope, '') || ':', '') || concat_ws('/', oc.source, oc.kind, oc.source_event_id)
    from occurrences oc where oc.id = c.occurrence_id;
--bun:split
alter table payouts add column debt_digest text,
    add constraint payouts_debt_digest_check check (debt_digest ~ '^[0-9a-f]{16}$');
--bun:split
create unique index payouts_rail_key_key on payouts (policy_id, debt_digest, key_number, partner) where debt_digest is not null;
