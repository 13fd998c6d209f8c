-- A document's bytes are stored before its record is. Where that record never came, because a process died between, this row says so.
create table files_underway (
    key text not null,
    created_at timestamptz not null,
    constraint files_underway_pkey primary key (key)
);
