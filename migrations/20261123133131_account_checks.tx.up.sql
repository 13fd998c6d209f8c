-- When the rail is asked about an account at the latest: a check that failed or was lost is asked for again.
alter table payout_methods add column next_check_at timestamptz;
--bun:split
alter table payout_methods alter column next_check_at set default business_now();
--bun:split
update payout_methods set next_check_at = business_now() where status = 'pending';
--bun:split
create index payout_methods_unchecked_idx on payout_methods (next_check_at) where status = 'pending';
