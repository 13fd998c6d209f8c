-- Receipts: the readings that determinations were computed from, and the records of feeds behind them.

create table occurrence_readings (
    digest text constraint occurrence_readings_pkey primary key,
    occurrence_id uuid not null,
    facts json not null,
    created_at timestamptz not null,
    constraint occurrence_readings_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id)
);
comment on table occurrence_readings is
    'Versions of occurrences that determinations were computed from, each once. Insert-only.';
comment on column occurrence_readings.digest is 'sha256: and the digest of facts, which the receipt of a determination names.';
comment on column occurrence_readings.facts is 'The values in canonical JSON, with the versions of the observations they come from.';

create table observation_records (
    observation_id uuid not null,
    version bigint not null,
    record bytea not null,
    file_sha256 bytea not null,
    fetched_at timestamptz not null,
    host text not null,
    path text not null,
    constraint observation_records_pkey primary key (observation_id, version),
    constraint observation_records_observation_id_fkey foreign key (observation_id) references observations (id)
);
comment on table observation_records is
    'The records of feeds that observations come from, as they were sent. Insert-only; none for observations that were posted.';
comment on column observation_records.version is 'Version of the observation that came from this record.';
comment on column observation_records.record is 'The bytes of the record in its file.';
comment on column observation_records.file_sha256 is 'Digest of the whole file.';
comment on column observation_records.host is 'Host and port of the address; empty for a file of this machine.';
comment on column observation_records.path is 'Path of the address or name of the file, without the query, which may have a key.';
