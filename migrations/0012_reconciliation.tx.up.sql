-- Reports of rails about the money they moved, and what differs.

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
comment on table rail_reports is
    'Reports of rails about the money they moved. A report is known by its digest: the same one again changes nothing.';
comment on column rail_reports.rail_identity is 'The bank that made the report; null for a report that an operator uploaded.';
comment on column rail_reports.name is 'File name or day.';
comment on column rail_reports.author is 'The operator, or parapet for a report that was fetched.';
comment on column rail_reports.digest is 'Digest of the report: the same text from the same bank is imported once.';
comment on column rail_reports.lines is 'Number of lines.';

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
    constraint rail_report_lines_match_result_check check (match_result in ('reconciled', 'returned', 'rejected', 'underway', 'unknown', 'amount', 'beneficiary', 'state', 'duplicate', 'reversed', 'unmatched')),
    constraint rail_report_lines_currency_check check (currency ~ '^[A-Z]{3}$')
);
comment on table rail_report_lines is
    'Lines of rail reports, and how each matched a payout.';
comment on column rail_report_lines.key is 'The idempotency key as the report has it; a bank may shorten it.';
comment on column rail_report_lines.reference is 'The rail''s reference.';
comment on column rail_report_lines.amount is 'Minor units of currency.';
comment on column rail_report_lines.account is 'The paid account, masked as payouts show it; empty if the report has none.';
comment on column rail_report_lines.status is 'What the rail says: settled, rejected, returned or underway.';
comment on column rail_report_lines.code is 'Reason of a rejection or return.';
comment on column rail_report_lines.reported_at is 'When the money moved, by the rail.';
comment on column rail_report_lines.match_result is 'Null until the line was compared with its payout; otherwise what followed.';
comment on column rail_report_lines.payout_id is 'The payout that the line is about; null if it is unknown.';
create index rail_report_lines_open_idx on rail_report_lines (report_id, number) where match_result is null;
create index rail_report_lines_payout_idx on rail_report_lines (payout_id) where payout_id is not null;
-- No foreign key of payout_id: payouts are identified with their partner, which a rail does not report.

create table rail_report_days (
    rail text not null,
    rail_identity text not null,
    day date not null,
    taken_at timestamptz not null,
    report_id uuid,
    constraint rail_report_days_report_id_fkey foreign key (report_id) references rail_reports (id),
    constraint rail_report_days_pkey primary key (rail, rail_identity, day)
);
comment on table rail_report_days is
    'Days (UTC) whose report of a rail was imported or given up.';
comment on column rail_report_days.rail_identity is 'The bank; empty if the rail has no identity.';
comment on column rail_report_days.taken_at is 'When the report was imported or given up.';
comment on column rail_report_days.report_id is 'Null where the rail never had a report of the day.';

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
comment on table reconciliation_exceptions is
    'Differences between what rails report and what this service has, for an operator to resolve.';
comment on column reconciliation_exceptions.kind is 'What differs.';
comment on column reconciliation_exceptions.detail is 'Why a line could not be matched.';
comment on column reconciliation_exceptions.rail is 'Null for paid_twice.';
comment on column reconciliation_exceptions.report_id is 'Null where no report shows it: missing, contradiction, paid_twice.';
comment on column reconciliation_exceptions.line is 'Number of the line in the report.';
comment on column reconciliation_exceptions.partner is 'Null while the payout is unknown, as policy_id and payout_id.';
comment on column reconciliation_exceptions.related_payout_id is 'Of paid_twice: the payout that had paid the event before.';
comment on column reconciliation_exceptions.closed_by is 'The operator, or parapet.';
create unique index reconciliation_exceptions_missing_key on reconciliation_exceptions (payout_id, partner) where kind = 'missing' and closed_at is null;
create unique index reconciliation_exceptions_contradiction_key on reconciliation_exceptions (payout_id, partner) where kind = 'contradiction' and closed_at is null;
create index reconciliation_exceptions_open_idx on reconciliation_exceptions (id desc) where closed_at is null;
create index reconciliation_exceptions_policy_idx on reconciliation_exceptions (policy_id) where policy_id is not null and kind in ('unknown', 'unmatched');
create index reconciliation_exceptions_line_idx on reconciliation_exceptions (report_id, line) where closed_at is null;
create index reconciliation_exceptions_report_idx on reconciliation_exceptions (report_id) where report_id is not null;
create unique index reconciliation_exceptions_paid_twice_key on reconciliation_exceptions (payout_id, partner) where kind = 'paid_twice';
