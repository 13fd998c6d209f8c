-- Reads events, ledger, timeline and idempotency keys once while everybody writes: see 0026. Ids above the border do not come from this program;
-- a database that has some loses the CHECK, and 0028 moves their rows.

do $$
declare
    parent text;
begin
    foreach parent in array array['events', 'ledger_entries', 'timeline_entries'] loop
        begin
            execute format('alter table %I validate constraint %I', parent, parent || '_border_check');
        exception when check_violation then
            execute format('alter table %I drop constraint %I', parent, parent || '_border_check');
        end;
    end loop;
end $$;

-- The lock of each row makes a change of it wait, or is taken on the changed row, which the trigger copied.
insert into idempotency_keys_next (owner, operation, key, request_hash, status, resource_id, body, created_at, sealed_until)
    select owner, operation, key, request_hash, status, resource_id, body, created_at, sealed_until from idempotency_keys for share
    on conflict (owner, operation, key) do nothing;
