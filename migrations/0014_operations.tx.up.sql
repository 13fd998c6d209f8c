-- Operations: stops of releases, restores of the database, workers, sessions of operators.

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
comment on table release_stops is
    'Stops of all releases, and their ends. At most one is active.';
comment on column release_stops.stopped_by is 'The operator, as issuer#subject, or parapet when an invariant was violated.';
comment on column release_stops.acknowledged is 'Whether the violations that were open at the end were acknowledged.';
create unique index release_stops_active_key on release_stops ((resumed_at is null)) where resumed_at is null;

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
comment on table release_resumptions is
    'Runs that end a stop and make the waiting payouts due, in batches.';
comment on column release_resumptions.acknowledge is 'Whether the operator acknowledged open violations.';
comment on column release_resumptions.done is 'Payouts made due so far.';
comment on column release_resumptions.total is 'Payouts that waited at the start.';
comment on column release_resumptions.refusal is 'Why the run was refused.';
create unique index release_resumptions_unfinished_key on release_resumptions ((finished_at is null)) where finished_at is null;

create table database_identity (
    only_row boolean not null default true,
    lineage uuid not null default gen_random_uuid(),
    system_identifier text,
    timeline bigint,
    heartbeat bigint not null default 0,
    heartbeat_at timestamptz not null default clock_timestamp(),
    checkpoints_saved_at timestamptz not null default '-infinity',
    constraint database_identity_pkey primary key (only_row),
    constraint database_identity_only_row_check check (only_row)
);
comment on table database_identity is
    'Which database this is and how far it has come, one row. It is compared with the file store: a database that was restored from a backup is behind.';
comment on column database_identity.lineage is 'Names this database through copies and moves; a new database has another.';
comment on column database_identity.system_identifier is 'Of the cluster it ran on last; null before the first heartbeat.';
comment on column database_identity.timeline is 'Timeline of that cluster.';
comment on column database_identity.heartbeat is 'Grows with every heartbeat of the workers.';
comment on column database_identity.checkpoints_saved_at is 'Checkpoints signed until then are in the file store too.';
insert into database_identity default values;

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
comment on table database_restores is
    'Restores of the database from a backup: noticed by a server or begun by an operator. While one is open no payout is sent and no event gets a sequence.';
comment on column database_restores.evidence is 'What shows the restore, for operators.';
comment on column database_restores.file_store_heartbeat is 'The last heartbeat that the file store has.';
comment on column database_restores.stop_id is 'The stop of releases that it caused.';
comment on column database_restores.outcome is 'finished, or dismissed: it was no restore.';
create unique index database_restores_open_key on database_restores ((true)) where ended_at is null;

create table job_workers (
    worker text constraint job_workers_pkey primary key,
    seen_at timestamptz not null,
    silent_since timestamptz
);
comment on table job_workers is
    'Processes that work jobs. The running jobs of a process that was silent for a while are given to others.';
comment on column job_workers.worker is 'Name of the process, as in the attempted_by of its jobs.';
comment on column job_workers.silent_since is 'When another process first saw that seen_at is old.';

create table ended_sessions (
    id text constraint ended_sessions_pkey primary key,
    expires_at timestamptz not null
);
comment on table ended_sessions is
    'Sessions of the operator UI that were ended before their cookie expires. A session is a sealed cookie; every node checks it against this table.';
