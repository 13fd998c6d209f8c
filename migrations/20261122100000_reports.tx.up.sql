-- What rails report of the money they moved, line by line, and every difference to what we hold. A report is known by its
-- digest: the same one again changes nothing.
create table rail_reports (
    id uuid not null,
    created_at timestamptz not null,
    rail text not null,
    name text not null,
    author text not null,
    digest text not null,
    lines integer not null,
    constraint rail_reports_pkey primary key (id),
    constraint rail_reports_digest_key unique (rail, digest)
);
--bun:split
-- result is null until the line was held against its payout.
create table rail_report_lines (
    report_id uuid not null,
    number integer not null,
    rail text not null,
    key text not null,
    reference text not null,
    amount bigint not null,
    currency text not null,
    status text not null,
    code text not null,
    at timestamptz not null,
    result text,
    constraint rail_report_lines_pkey primary key (report_id, number),
    constraint rail_report_lines_report_id_fkey foreign key (report_id) references rail_reports (id) deferrable initially deferred,
    constraint rail_report_lines_status_check check (status in ('settled', 'rejected', 'returned', 'underway')),
    constraint rail_report_lines_result_check check (result in ('reconciled', 'returned', 'rejected', 'underway', 'unknown', 'amount', 'state', 'duplicate'))
);
--bun:split
create index rail_report_lines_open_idx on rail_report_lines (report_id, number) where result is null;
--bun:split
create index payouts_provider_reference_idx on payouts (provider_reference) where provider_reference is not null;
--bun:split
create index payouts_unconfirmed_idx on payouts (provider, released_at) where status = 'released';
--bun:split
-- A difference that a person looks into. partner and payout_id are null where nobody's payout is known.
create table findings (
    id uuid not null,
    created_at timestamptz not null,
    kind text not null,
    rail text not null,
    report_id uuid not null,
    line integer,
    partner text,
    payout_id uuid,
    closed_at timestamptz,
    closed_by text,
    closed_reason text,
    constraint findings_pkey primary key (id),
    constraint findings_report_id_fkey foreign key (report_id) references rail_reports (id),
    constraint findings_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint findings_kind_check check (kind in ('missing', 'unknown', 'amount', 'state', 'duplicate')),
    constraint findings_closed_check check ((closed_at is null) = (closed_by is null) and (closed_at is null) = (closed_reason is null))
);
--bun:split
create unique index findings_missing_key on findings (payout_id, partner) where kind = 'missing' and closed_at is null;
