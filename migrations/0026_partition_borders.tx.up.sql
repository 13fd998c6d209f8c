-- Events, timeline entries and the ledger become partitioned by month: this migration and the next three. The table of today
-- becomes the partition of all ids below a border, the first month that begins in a week or later. Here, a CHECK says so to
-- new rows; 0027 checks the old ones while everybody writes; 0028 exchanges the tables without reading them.
--
-- Idempotency keys become partitioned by a hash of the whole key: by time, a key could be used again in another month. Here, a
-- trigger begins to write new rows twice; 0027 copies the old ones while everybody writes; 0028 exchanges the tables.

create function lowest_uuid(at timestamptz) returns uuid language sql immutable as
$$ select (lpad(to_hex(greatest(0, floor(extract(epoch from at) * 1000))::bigint), 12, '0') || repeat('0', 20))::uuid $$;
comment on function lowest_uuid is 'The lowest UUIDv7 of a millisecond (RFC 9562, section 5.7).';

create function uuid_time(id uuid) returns timestamptz language sql immutable as
$$ select to_timestamp(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0) $$;
comment on function uuid_time is 'The time in a UUIDv7, to the millisecond.';

-- Locks tables for a change of the schema. A statement that comes meanwhile waits for half a second at most, less than
-- deadlock_timeout, so that no statement of a client is cancelled; then the lock is given up and tried again for five minutes.
create function lock_for_change(tables text) returns void language plpgsql as
$$ begin
    for attempt in 1..300 loop
        begin
            perform set_config('lock_timeout', '500ms', true);
            execute 'lock table ' || tables || ' in access exclusive mode';
            perform set_config('lock_timeout', '0', true);
            return;
        exception when lock_not_available or deadlock_detected then
            perform pg_sleep(0.5);
        end;
    end loop;
    raise exception 'others have used % for five minutes: end long transactions, then migrate again', tables using errcode = 'lock_not_available';
end $$;

create table idempotency_keys_next (like idempotency_keys including defaults including constraints including comments including storage) partition by hash (owner, operation, key);
do $$ begin
    execute format('comment on table idempotency_keys_next is %L', obj_description('idempotency_keys'::regclass, 'pg_class'));
    for n in 0..7 loop
        execute format('create table %I partition of idempotency_keys_next for values with (modulus 8, remainder %s)', 'idempotency_keys_part' || n, n);
        execute format('comment on table %I is %L', 'idempotency_keys_part' || n, 'Partition of idempotency_keys.');
    end loop;
end $$;
alter table idempotency_keys_next add constraint idempotency_keys_next_pkey primary key (owner, operation, key);
create index idempotency_keys_next_due_idx on idempotency_keys_next (created_at);
create index idempotency_keys_next_sealed_idx on idempotency_keys_next (sealed_until) where sealed_until is not null;

create function copy_idempotency_key() returns trigger language plpgsql as
$$ begin
    if tg_op = 'DELETE' then
        delete from idempotency_keys_next where owner = old.owner and operation = old.operation and key = old.key;
    else
        insert into idempotency_keys_next (owner, operation, key, request_hash, status, resource_id, body, created_at, sealed_until)
            values (new.owner, new.operation, new.key, new.request_hash, new.status, new.resource_id, new.body, new.created_at, new.sealed_until)
            on conflict (owner, operation, key) do update set request_hash = excluded.request_hash, status = excluded.status, resource_id = excluded.resource_id,
                body = excluded.body, created_at = excluded.created_at, sealed_until = excluded.sealed_until;
    end if;
    return null;
end $$;

-- The ids of events and postings have the time of the process that makes them; those of claims have business time.
do $$
declare
    item record;
begin
    perform lock_for_change('events, ledger_entries, timeline_entries, idempotency_keys');
    for item in select * from (values ('events', 'id', clock_timestamp()), ('ledger_entries', 'event_id', clock_timestamp()),
            ('timeline_entries', 'claim_id', greatest(clock_timestamp(), business_now()))) as i (parent, key, at) loop
        execute format('alter table %I add constraint %I check (%I < %L) not valid', item.parent, item.parent || '_border_check', item.key,
            lowest_uuid(date_trunc('month', item.at + interval '7 days', 'UTC') + interval '1 month'));
    end loop;
    create trigger idempotency_keys_copied after insert or update or delete on idempotency_keys for each row execute function copy_idempotency_key();
end $$;
