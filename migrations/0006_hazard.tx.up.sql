-- What sources report: observations, and the occurrences that they form.

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
comment on table occurrences is
    'Events of nature that can cause a payout: an earthquake, a storm, a wet or dry period at a station. Formed from observations.';
comment on column occurrences.scope is 'Empty for what sources reported, or the slug of the partner that reported it in the sandbox.';
comment on column occurrences.source_event_id is 'The source''s first identifier of the event; see occurrence_aliases.';
comment on column occurrences.station is 'Of rainfall: the station.';
comment on column occurrences.definition is 'Of rainfall: what makes it one occurrence, for example spell/1/3 or month.';
comment on column occurrences.occurred_at is 'Origin time of an earthquake, first fix of a storm, first day of a rainfall period (00:00 UTC).';
comment on column occurrences.last_at is 'Last fix or day.';
comment on column occurrences.stage is 'preliminary until the source confirms its values; retracted when no observation of it is left.';
comment on column occurrences.final_track_at is 'When the whole final track of a storm was reported.';
comment on column occurrences.source_version is 'What the source calls the version of its values.';
comment on column occurrences.merged_into is 'The occurrence that turned out to be the same event.';
create index occurrences_merged_idx on occurrences (merged_into) where merged_into is not null;
create index occurrences_source_idx on occurrences (source, id desc);
create index occurrences_occurred_idx on occurrences (occurred_at);
create index occurrences_station_idx on occurrences (station, definition, source, scope, occurred_at) where station is not null;

create table occurrence_aliases (
    scope text not null default '',
    source text not null,
    kind text not null,
    alias text not null,
    occurrence_id uuid not null,
    constraint occurrence_aliases_pkey primary key (scope, source, kind, alias),
    constraint occurrence_aliases_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id)
);
comment on table occurrence_aliases is
    'Identifiers that sources use for an occurrence: sources rename their events, and every name leads to one occurrence.';
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
comment on table observations is
    'Values that sources reported: an earthquake, a fix of a storm, a day''s rainfall at a station. A revision replaces the body and keeps the former one in observation_revisions.';
comment on column observations.scope is 'Empty, or the slug of the partner that reported it in the sandbox.';
comment on column observations.natural_key is 'Identifies the observation at its source, through revisions.';
comment on column observations.kind is 'Kind of observation: earthquake, storm_fix or station_day.';
comment on column observations.revision is 'The source''s revision number, if it has one.';
comment on column observations.body is 'The values, as the API shows them.';
comment on column observations.digest is 'Hash of the values: a report without news changes nothing.';
comment on column observations.day is 'Of station_day: the day of measurement.';
comment on column observations.occurrence_id is 'The occurrence it belongs to; null until it is linked to one.';
create index observations_occurrence_idx on observations (occurrence_id, occurred_at);
create index observations_station_idx on observations (station, source, scope, day) where station is not null;
create index observations_source_idx on observations (source, id desc);
create index observations_occurred_idx on observations (occurred_at);

create table observation_revisions (
    observation_id uuid not null,
    version bigint not null,
    body json not null,
    recorded_at timestamptz not null,
    constraint observation_revisions_pkey primary key (observation_id, version),
    constraint observation_revisions_observation_id_fkey foreign key (observation_id) references observations (id)
);
comment on table observation_revisions is
    'Former values of observations that their source revised or retracted. Insert-only.';
comment on column observation_revisions.version is 'Version of the observation that had these values.';

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
comment on table feed_polls is
    'State of the feeds that the service polls, by address. Written by the feed worker.';
comment on column feed_polls.etag is 'For the conditional request of the next poll, as last_modified.';
comment on column feed_polls.failures is 'Failed polls since the last success; the wait grows with it.';

create table feed_replays (
    source text not null,
    digest text not null,
    event_id text not null,
    offset_us bigint not null,
    created_at timestamptz not null,
    constraint feed_replays_pkey primary key (source, digest)
);
comment on table feed_replays is
    'Files of history that were replayed in development, with the shift of their times, so that a second replay changes nothing.';
comment on column feed_replays.digest is 'SHA-256 of the file.';
comment on column feed_replays.event_id is 'The event that was made to happen at created_at.';
comment on column feed_replays.offset_us is 'Microseconds added to the times in the file.';
