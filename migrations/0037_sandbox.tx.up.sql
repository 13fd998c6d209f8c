-- The sandbox of rehearsal servers: runs, the simulator's reports within a day, and what a partner has shown.

create table sandbox_runs (
    id uuid not null,
    partner text not null,
    version bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    kind text not null,
    status text not null,
    progress int not null default 0,
    request json not null,
    upload text,
    result json not null,
    error text,
    constraint sandbox_runs_pkey primary key (id, partner),
    constraint sandbox_runs_kind_check check (kind in ('clock', 'replay', 'reset', 'signature')),
    constraint sandbox_runs_status_check check (status in ('running', 'done', 'failed')),
    constraint sandbox_runs_progress_check check (progress between 0 and 100),
    constraint sandbox_runs_error_check check ((status = 'failed') = (error is not null))
);
comment on table sandbox_runs is
    'What the sandbox does in the background: it moves the clock, replays an event, ends a partner''s open records, or sends a wrong signature. Rehearsal servers only; no row is deleted.';
comment on column sandbox_runs.partner is 'The partner that asked for it; empty for an operator.';
comment on column sandbox_runs.progress is 'How far it is, in percent.';
comment on column sandbox_runs.request is 'What was asked for.';
comment on column sandbox_runs.upload is 'The uploaded file of a replay, at most 1 MiB.';
comment on column sandbox_runs.result is 'What it has done so far.';
create index sandbox_runs_partner_idx on sandbox_runs (partner, id);
create unique index sandbox_runs_clock_key on sandbox_runs (kind) where kind = 'clock' and status = 'running';
create unique index sandbox_runs_reset_key on sandbox_runs (partner) where kind = 'reset' and status = 'running';
create index sandbox_runs_running_idx on sandbox_runs (id) where status = 'running';

alter table simulator_transfers add column reported boolean not null default false;
comment on column simulator_transfers.reported is 'Whether simulator_report_lines reports it, instead of the report of its day.';
create index simulator_transfers_unreported_idx on simulator_transfers (created_at) where not reported;

create table simulator_report_lines (
    number bigint generated always as identity constraint simulator_report_lines_pkey primary key,
    created_at timestamptz not null default clock_timestamp(),
    key text not null constraint simulator_report_lines_key_fkey references simulator_transfers (key),
    outcome text not null,
    report text,
    imported boolean not null default false,
    constraint simulator_report_lines_outcome_check check (outcome in ('settle', 'return', 'mismatch'))
);
comment on table simulator_report_lines is 'The lines of the simulated rail''s reports within a day, on rehearsal servers.';
comment on column simulator_report_lines.outcome is 'settle: paid; return: came back; mismatch: paid with another amount.';
comment on column simulator_report_lines.report is 'The report that has the line; null until it is made. A report never changes, so that importing it again changes nothing.';
comment on column simulator_report_lines.imported is 'Whether the report was reconciled.';
create index simulator_report_lines_open_idx on simulator_report_lines (number) where not imported;

create table sandbox_checks (
    partner text not null,
    item text not null,
    shown_at timestamptz not null,
    request_id text,
    evidence text not null,
    constraint sandbox_checks_pkey primary key (partner, item)
);
comment on table sandbox_checks is 'What a partner''s client has shown in the sandbox, each with its first evidence.';
comment on column sandbox_checks.shown_at is 'In real time.';
comment on column sandbox_checks.request_id is 'The request that showed it; null when no request of the partner did.';
