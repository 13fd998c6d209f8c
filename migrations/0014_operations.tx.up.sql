-- Stops of releases, restores, workers, sessions of operators.

-- When releases were stopped and went on again, and why. One stop stands at most.
create table release_stops (
    id uuid not null,
    stopped_at timestamptz not null,
    stopped_by text not null,
    reason text not null,
    resumed_at timestamptz,
    resumed_by text,
    resume_reason text,
    acknowledged boolean not null default false,
    constraint release_stops_pkey primary key (id),
    constraint release_stops_resumed_check check ((resumed_at is null) = (resumed_by is null) and (resumed_at is null) = (resume_reason is null))
);
create unique index release_stops_active_key on release_stops ((resumed_at is null)) where resumed_at is null;

-- Runs that end a stop of releases and make due, in batches, the payouts that waited for its end.
create table release_resumptions (
    id uuid constraint release_resumptions_pkey primary key,
    stop_id uuid not null constraint release_resumptions_stop_id_fkey references release_stops (id),
    state text not null constraint release_resumptions_state_check check (state in ('checking', 'resuming', 'completed', 'refused', 'stopped')),
    started_at timestamptz not null,
    started_by text not null,
    reason text not null,
    acknowledge boolean not null,
    done bigint not null default 0,
    total bigint not null default 0,
    finished_at timestamptz,
    refusal text,
    constraint release_resumptions_finished_check check ((finished_at is null) = (state in ('checking', 'resuming'))),
    constraint release_resumptions_refusal_check check ((refusal is null) = (state <> 'refused'))
);
create unique index release_resumptions_unfinished_key on release_resumptions ((finished_at is null)) where finished_at is null;

-- Which database this is and how far it has come. What the file store has of it is
-- compared: a database that was set back by a restore is behind.
create table database_identity (
    only_row boolean not null default true,
    -- Names this database through copies and moves; a new one has another.
    lineage uuid not null default gen_random_uuid(),
    -- Of the cluster it was seen on last; null before the first heartbeat.
    system_identifier text,
    timeline bigint,
    -- Grows with every heartbeat of the workers.
    heartbeat bigint not null default 0,
    heartbeat_at timestamptz not null default clock_timestamp(),
    -- Checkpoints signed until then are in the file store too.
    checkpoints_saved_at timestamptz not null default '-infinity',
    constraint database_identity_pkey primary key (only_row),
    constraint database_identity_only_row_check check (only_row)
);
insert into database_identity default values;

-- Restores of the database from a backup: noticed by a server or begun by an operator,
-- and how each ended. While one is open no payout is sent and no event is numbered.
create table database_restores (
    id uuid not null,
    noticed_at timestamptz not null,
    noticed_by text not null,
    evidence text not null,
    file_store_heartbeat bigint not null,
    stop_id uuid,
    begun_at timestamptz,
    begun_by text,
    begin_reason text,
    ended_at timestamptz,
    ended_by text,
    end_reason text,
    outcome text,
    constraint database_restores_pkey primary key (id),
    constraint database_restores_stop_id_fkey foreign key (stop_id) references release_stops (id),
    constraint database_restores_outcome_check check (outcome in ('finished', 'dismissed') and (outcome is null) = (ended_at is null))
);
create unique index database_restores_open_key on database_restores ((true)) where ended_at is null;

-- Processes that work jobs. The jobs of one that has written nothing for a while are worked by others.
create table job_workers (
    worker text constraint job_workers_pkey primary key,
    seen_at timestamptz not null,
    silent_since timestamptz
);

-- Sessions of the operators' pages that were ended before their cookie expires. A session is a sealed cookie that every node
-- opens; signing out must end it on all of them.
create table ended_sessions (
    id text constraint ended_sessions_pkey primary key,
    expires_at timestamptz not null
);
