-- What every write uses: the clock, guards, idempotency keys.
--
-- Rules of the whole schema: primary keys are (id, partner) and foreign keys carry the partner, so that the tables can be
-- distributed by partner. A status is text with a CHECK. Money is a bigint of minor units with its currency. Every
-- constraint is named: model/constraint.go turns the name into the error that a partner reads.

-- The development clock: business time is the clock of the database plus offset_interval. is_rehearsal marks a database where history
-- may be replayed; a production database never has it.
create table clock (
    only_row boolean constraint clock_pkey primary key default true,
    offset_interval interval not null default interval '0',
    is_rehearsal boolean not null default false,
    constraint clock_only_row_check check (only_row)
);
insert into clock default values;

create function business_now() returns timestamptz language sql volatile as
$$ select clock_timestamp() + (select offset_interval from clock) $$;

create function refuse_change() returns trigger language plpgsql as
$$ begin raise exception '% is insert-only', tg_table_name; end $$;

-- A guarded write in a batch that ends with its commit: too few rows must undo the transaction, on the server.
create function require_rows(written bigint, expected bigint) returns void language plpgsql as
$$ begin
    if written <> expected then
        raise exception 'wrote % of % rows: others changed the rest meanwhile', written, expected using errcode = 'PA001';
    end if;
end $$;

create table idempotency_keys (
    owner text not null,
    operation text not null,
    key text not null,
    request_hash bytea not null,
    status integer not null,
    resource_id text,
    body bytea not null,
    created_at timestamptz not null,
    sealed_until timestamptz,
    constraint idempotency_keys_pkey primary key (owner, operation, key)
);
create index idempotency_keys_due_idx on idempotency_keys (created_at);
create index idempotency_keys_sealed_idx on idempotency_keys (sealed_until) where sealed_until is not null;
