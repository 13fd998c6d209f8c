-- Editions of the price history that operators load, and the stations that can be insured.

create table if not exists price_histories (
    data_set text not null,
    version int not null,
    name text not null,
    digest text not null,
    first_year int not null,
    last_year int not null,
    rows int not null,
    content bytea not null,
    created_at timestamptz not null,
    retired_at timestamptz,
    constraint price_histories_pkey primary key (data_set, version),
    constraint price_histories_data_set_check check (data_set in ('earthquakes', 'storms', 'station_days')),
    constraint price_histories_version_check check (version > 0)
);
comment on table price_histories is
    'Files of past events that operators loaded. New quotes use the newest version of each data set that is not retired, and the history of the release where there is none. No row is deleted: quotes name the digest.';
comment on column price_histories.digest is 'SHA-256 of the file.';
comment on column price_histories.rows is 'Number of earthquakes, fixes of storms or days at stations.';
comment on column price_histories.content is 'The file, compressed by gzip.';
comment on column price_histories.retired_at is 'Since when new quotes do not use the version; null while they may.';
create index if not exists price_histories_digest_idx on price_histories (digest);

create table if not exists stations (
    name text not null,
    agency_id text,
    latitude double precision,
    longitude double precision,
    enabled boolean not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    constraint stations_pkey primary key (name),
    constraint stations_location_check check ((latitude is null) = (longitude is null))
);
comment on table stations is 'What operators registered of stations. A station of the price history that has no row is enabled.';
comment on column stations.name is 'The name in observations, contexts and the price history.';
comment on column stations.agency_id is 'Id at the agency that runs the station, such as USW00024233 of GHCN.';
comment on column stations.enabled is 'Whether new quotes may insure it.';
