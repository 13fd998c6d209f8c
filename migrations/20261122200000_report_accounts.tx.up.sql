-- Whom a rail says it paid, where its report tells: masked, as payouts show it. The previous release writes none, and
-- finds nothing about it.
alter table rail_report_lines
    add column account text not null default '',
    drop constraint rail_report_lines_result_check,
    add constraint rail_report_lines_result_check check (result in ('reconciled', 'returned', 'rejected', 'underway', 'unknown', 'amount', 'beneficiary', 'state', 'duplicate'));
--bun:split
alter table findings
    drop constraint findings_kind_check,
    add constraint findings_kind_check check (kind in ('missing', 'unknown', 'amount', 'beneficiary', 'state', 'duplicate'));
