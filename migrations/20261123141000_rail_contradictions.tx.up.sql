-- What a rail says against its own word is an exception without a report. noticed is the refusal that a rail sent on its own
-- and has not confirmed; voided_at says that the rail promised never to pay under the attempt's key.
alter table findings
    alter column report_id drop not null,
    drop constraint findings_kind_check,
    add constraint findings_kind_check check (kind in ('missing', 'unknown', 'amount', 'beneficiary', 'state', 'duplicate', 'contradiction'));
--bun:split
create unique index findings_contradiction_key on findings (payout_id, partner) where kind = 'contradiction' and closed_at is null;
--bun:split
alter table payout_attempts
    add column refusal_noticed_at timestamptz,
    add column voided_at timestamptz;
