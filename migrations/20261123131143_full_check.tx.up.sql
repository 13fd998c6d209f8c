-- How far the check of all records by the invariants has come: a saved position, so that no snapshot is held for the whole
-- of it and another process goes on.
create table invariant_full_check (
    only_row boolean not null default true,
    position uuid,
    started_at timestamptz,
    slice_size integer not null default 2000,
    failed text[] not null default '{}',
    constraint invariant_full_check_pkey primary key (only_row),
    constraint invariant_full_check_only_row_check check (only_row)
);
--bun:split
insert into invariant_full_check default values;
