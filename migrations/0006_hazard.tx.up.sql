-- What sources report: observations, and the occurrences that they form.

-- One thing that happened. scope is empty for what a source reported, or the partner who rehearses in the sandbox.
create table occurrences (
    id uuid constraint occurrences_pkey primary key,
    scope text not null default '',
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    source text not null,
    source_event_id text not null,
    kind text not null,
    station text,
    definition text,
    occurred_at timestamptz not null,
    last_at timestamptz not null,
    stage text not null,
    final_track_at timestamptz,
    source_version text not null,
    merged_into uuid,
    constraint occurrences_merged_into_fkey foreign key (merged_into) references occurrences (id),
    constraint occurrences_kind_check check (kind in ('earthquake', 'storm_fix', 'station_day')),
    constraint occurrences_stage_check check (stage in ('preliminary', 'final', 'retracted')),
    constraint occurrences_source_event_key unique nulls not distinct (scope, source, kind, source_event_id, definition),
    constraint occurrences_station_check check ((kind = 'station_day') = (station is not null and definition is not null))
);
create index occurrences_merged_idx on occurrences (merged_into) where merged_into is not null;
create index occurrences_source_idx on occurrences (source, id desc);
create index occurrences_occurred_idx on occurrences (occurred_at);
create index occurrences_station_idx on occurrences (station, definition, source, scope, occurred_at) where station is not null;

-- Sources rename their events; every name they ever used leads to one occurrence.
create table occurrence_aliases (
    scope text not null default '',
    source text not null,
    kind text not null,
    alias text not null,
    occurrence_id uuid not null,
    constraint occurrence_aliases_pkey primary key (scope, source, kind, alias),
    constraint occurrence_aliases_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id)
);
create index occurrence_aliases_occurrence_idx on occurrence_aliases (occurrence_id);

create table observations (
    id uuid constraint observations_pkey primary key,
    scope text not null default '',
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    source text not null,
    natural_key text not null,
    source_event_id text not null,
    kind text not null,
    occurred_at timestamptz not null,
    stage text not null,
    revision bigint,
    body json not null,
    digest bytea not null,
    station text,
    day date,
    occurrence_id uuid,
    constraint observations_natural_key unique (scope, source, natural_key),
    constraint observations_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id),
    constraint observations_kind_check check (kind in ('earthquake', 'storm_fix', 'station_day')),
    constraint observations_station_check check ((kind = 'station_day') = (station is not null and day is not null)),
    constraint observations_stage_check check (stage in ('preliminary', 'final', 'retracted'))
);
create index observations_occurrence_idx on observations (occurrence_id, occurred_at);
create index observations_station_idx on observations (station, source, scope, day) where station is not null;
create index observations_source_idx on observations (source, id desc);
create index observations_occurred_idx on observations (occurred_at);

-- What a source said before it changed its mind. Insert-only.
create table observation_revisions (
    observation_id uuid not null,
    version bigint not null,
    body json not null,
    recorded_at timestamptz not null,
    constraint observation_revisions_pkey primary key (observation_id, version),
    constraint observation_revisions_observation_id_fkey foreign key (observation_id) references observations (id)
);

-- What the poller knows of each feed address, and the shift a replayed file was given.
create table feed_polls (
    source text not null,
    url text not null,
    etag text,
    last_modified text,
    next_poll_at timestamptz not null,
    failures integer not null default 0,
    last_error text,
    polled_at timestamptz,
    constraint feed_polls_pkey primary key (source, url)
);

create table feed_replays (
    source text not null,
    digest text not null,
    event_id text not null,
    offset_us bigint not null,
    created_at timestamptz not null,
    constraint feed_replays_pkey primary key (source, digest)
);
