-- Payouts that a worker has or had, and those of each partner that are due, are found however many others are due.
create index payouts_in_flight_idx on payouts (next_attempt_at) where status in ('releasing', 'reconciling');
--bun:split
create index payouts_partner_due_idx on payouts (partner, next_attempt_at) where status = 'pending';
--bun:split
create index payouts_partner_stopped_idx on payouts (partner, id) where status = 'pending' and next_attempt_at is null;
