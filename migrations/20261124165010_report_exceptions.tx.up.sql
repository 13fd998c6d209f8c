-- Money that a rail's report shows to have arrived under a key whose payout could not be confirmed by it, and not to have come
-- back: nothing more is sent for that part of the claim.
create table payout_arrivals (
    claim_id uuid not null,
    partner text not null,
    part integer not null,
    key_number integer not null,
    created_at timestamptz not null,
    constraint payout_arrivals_pkey primary key (claim_id, partner, part, key_number),
    constraint payout_arrivals_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner)
);
--bun:split
-- A line that could not be matched (unmatched, why is in detail), the undoing of a return (reversed), and the policy that a
-- line names. What no report has confirmed in time is missing without a report.
alter table rail_report_lines
    drop constraint rail_report_lines_result_check,
    add constraint rail_report_lines_result_check check (result in ('reconciled', 'returned', 'rejected', 'underway', 'unknown', 'amount', 'beneficiary', 'state', 'duplicate', 'reversed', 'unmatched'));
--bun:split
alter table findings
    add column policy_id uuid,
    add column detail text,
    add constraint findings_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    drop constraint findings_kind_check,
    add constraint findings_kind_check check (kind in ('missing', 'unknown', 'amount', 'beneficiary', 'state', 'duplicate', 'reversed', 'unmatched', 'contradiction'));
--bun:split
create index findings_policy_idx on findings (policy_id) where policy_id is not null and kind in ('unknown', 'unmatched');
--bun:split
create index findings_line_idx on findings (report_id, line) where closed_at is null;
--bun:split
-- A payout that an operator found released after a call whose answer never came had no rail, and no report could miss it.
update payouts po set provider = a.rail from payout_attempts a
    where po.status = 'released' and po.provider is null and a.payout_id = po.id and a.partner = po.partner and a.number = po.attempts;
