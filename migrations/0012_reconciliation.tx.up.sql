-- What rails report of the money they moved.

create table rail_reports (
    id uuid not null,
    created_at timestamptz not null,
    rail text not null,
    rail_identity text,
    name text not null,
    author text not null,
    digest text not null,
    lines integer not null,
    constraint rail_reports_pkey primary key (id),
    constraint rail_reports_digest_key unique nulls not distinct (rail, digest, rail_identity)
);

-- result is null until the line was held against its payout.
create table rail_report_lines (
    report_id uuid not null,
    number integer not null,
    rail text not null,
    key text not null,
    reference text not null,
    amount bigint not null,
    currency text not null,
    account text not null default '',
    status text not null,
    code text not null,
    reported_at timestamptz not null,
    match_result text,
    payout_id uuid,
    constraint rail_report_lines_pkey primary key (report_id, number),
    constraint rail_report_lines_report_id_fkey foreign key (report_id) references rail_reports (id) deferrable initially deferred,
    constraint rail_report_lines_status_check check (status in ('settled', 'rejected', 'returned', 'underway')),
    constraint rail_report_lines_match_result_check check (match_result in ('reconciled', 'returned', 'rejected', 'underway', 'unknown', 'amount', 'beneficiary', 'state', 'duplicate', 'reversed', 'unmatched'))
);
create index rail_report_lines_open_idx on rail_report_lines (report_id, number) where match_result is null;
create index rail_report_lines_payout_idx on rail_report_lines (payout_id) where payout_id is not null;

-- The UTC days of which a rail's report was taken, or given up: report_id is null where the rail never had one.
create table rail_report_days (
    rail text not null,
    rail_identity text not null,
    day date not null,
    taken_at timestamptz not null,
    report_id uuid,
    constraint rail_report_days_report_id_fkey foreign key (report_id) references rail_reports (id),
    constraint rail_report_days_pkey primary key (rail, rail_identity, day)
);

-- A difference that a person looks into. partner and payout_id are null where nobody's payout is known.
create table reconciliation_exceptions (
    id uuid not null,
    created_at timestamptz not null,
    kind text not null,
    detail text,
    rail text,
    report_id uuid,
    line integer,
    partner text,
    policy_id uuid,
    payout_id uuid,
    related_payout_id uuid,
    closed_at timestamptz,
    closed_by text,
    closed_reason text,
    constraint reconciliation_exceptions_pkey primary key (id),
    constraint reconciliation_exceptions_report_id_fkey foreign key (report_id) references rail_reports (id),
    constraint reconciliation_exceptions_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint reconciliation_exceptions_closed_check check ((closed_at is null) = (closed_by is null) and (closed_at is null) = (closed_reason is null)),
    constraint reconciliation_exceptions_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint reconciliation_exceptions_related_payout_id_fkey foreign key (related_payout_id, partner) references payouts (id, partner),
    constraint reconciliation_exceptions_related_check check ((kind = 'paid_twice') = (related_payout_id is not null)),
    constraint reconciliation_exceptions_kind_check check (kind in ('missing', 'unknown', 'amount', 'beneficiary', 'state', 'duplicate', 'reversed', 'unmatched', 'contradiction', 'paid_twice'))
);
create unique index reconciliation_exceptions_missing_key on reconciliation_exceptions (payout_id, partner) where kind = 'missing' and closed_at is null;
create unique index reconciliation_exceptions_contradiction_key on reconciliation_exceptions (payout_id, partner) where kind = 'contradiction' and closed_at is null;
create index reconciliation_exceptions_open_idx on reconciliation_exceptions (id desc) where closed_at is null;
create index reconciliation_exceptions_policy_idx on reconciliation_exceptions (policy_id) where policy_id is not null and kind in ('unknown', 'unmatched');
create index reconciliation_exceptions_line_idx on reconciliation_exceptions (report_id, line) where closed_at is null;
create unique index reconciliation_exceptions_paid_twice_key on reconciliation_exceptions (payout_id, partner) where kind = 'paid_twice';
