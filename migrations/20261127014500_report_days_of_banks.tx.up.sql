-- A rail's days are taken of one bank: under the same rail name another address or another paying account is another bank, whose
-- reports show other payments. Empty is a rail without an identity, and a day of which no identity can be told; it is asked for again.
alter table rail_report_days add column rail_identity text not null default '';
update rail_report_days t set rail_identity = coalesce((select rr.rail_identity from rail_reports rr where rr.id = t.report_id),
    (select min(i.id) from rail_identities i where i.name = t.rail and i.address || i.account <> '' having count(*) = 1), '');
alter table rail_report_days alter column rail_identity drop default,
    drop constraint rail_report_days_pkey, add constraint rail_report_days_pkey primary key (rail, rail_identity, day);
-- The same text from two banks is two reports.
alter table rail_reports drop constraint rail_reports_digest_key,
    add constraint rail_reports_digest_key unique nulls not distinct (rail, digest, rail_identity);
