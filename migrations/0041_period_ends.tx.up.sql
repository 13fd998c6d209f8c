-- A month or dekad with missing days is an occurrence from its end on, also when its station reports nothing any more.

alter table occurrences add column period_ended_at timestamptz;
comment on column occurrences.period_ended_at is
    'Of a month or dekad: when it was found to be over by the clock with days missing. Null for one that no sweep found so.';

create table period_ends (
    definition text not null,
    first_day date not null,
    station text not null,
    constraint period_ends_pkey primary key (definition)
);
comment on table period_ends is 'How far the sweep has looked for months and dekads that ended with days missing.';
comment on column period_ends.definition is 'month or dekad, as in occurrences.';
comment on column period_ends.first_day is 'First day of the oldest period that was not looked at for all stations.';
comment on column period_ends.station is 'The last station whose period was looked at, in order of names; empty before the first one.';
