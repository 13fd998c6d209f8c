-- What every write uses: the clock, guards, idempotency keys.
--
-- The schema is one file for each subdomain, in the order of the foreign keys. Rules of all of it: primary keys are (id, partner) and foreign keys carry the partner, so that the tables can be
-- distributed by partner. A status is text with a CHECK. Money is a bigint of minor units with its currency. Every
-- constraint is named: model/constraint.go turns the name into the error that a partner reads.

create table clock (
    only_row boolean constraint clock_pkey primary key default true,
    offset_interval interval not null default interval '0',
    is_rehearsal boolean not null default false,
    constraint clock_only_row_check check (only_row)
);
comment on table clock is
    'The clock of the service, one row. Business time is the clock of the database plus offset_interval: see business_now(). Moved in development only, by the replay of history.';
comment on column clock.offset_interval is 'How far business time is ahead of the clock of the database. Zero in production.';
comment on column clock.is_rehearsal is 'Whether history may be replayed here. The server refuses to serve such a database unless PARAPET_REHEARSAL asks for it.';
insert into clock default values;

-- The business time.
create function business_now() returns timestamptz language sql volatile as
$$ select clock_timestamp() + (select offset_interval from clock) $$;

-- Trigger of insert-only tables, for updates, deletes and truncates.
create function refuse_change() returns trigger language plpgsql as
$$ begin raise exception '% is insert-only', tg_table_name; end $$;

-- Aborts the transaction unless a guarded write changed every row: the batch that has the write ends with its commit, so the
-- server must check it.
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
comment on table idempotency_keys is
    'The response to each mutating request that had an Idempotency-Key, so that a repetition gets the same response. A sweep deletes rows after the retention time.';
comment on column idempotency_keys.owner is 'partner/<slug>, or person/<issuer#subject>: keys of different owners do not collide.';
comment on column idempotency_keys.request_hash is 'Hash of the request. Another request under the same key is refused.';
comment on column idempotency_keys.status is 'HTTP status of the response.';
comment on column idempotency_keys.resource_id is 'The record that the request created or changed, for the Location header.';
comment on column idempotency_keys.body is 'The response body; sealed with the configured key if sealed_until is set.';
comment on column idempotency_keys.sealed_until is 'Set if the response contains a secret: a sweep removes the secret at this time.';
create index idempotency_keys_due_idx on idempotency_keys (created_at);
create index idempotency_keys_sealed_idx on idempotency_keys (sealed_until) where sealed_until is not null;

create table schema_compatibility (
    only_row boolean constraint schema_compatibility_pkey primary key default true,
    minimum_binary integer not null,
    constraint schema_compatibility_only_row_check check (only_row)
);
comment on table schema_compatibility is
    'Which releases can use this database, one row. migrate, serve and doctor of an older release refuse it. A migration that breaks the release before the last raises minimum_binary.';
comment on column schema_compatibility.minimum_binary is 'Number of the newest migration that a release must know.';
insert into schema_compatibility (minimum_binary) values (15);
