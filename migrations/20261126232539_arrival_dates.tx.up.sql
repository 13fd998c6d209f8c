-- A return that an earlier statement had already, or that is older than the arrival, does
-- not take an arrival back, so an arrival keeps its date.
alter table payout_arrivals add column reported_at timestamptz;

comment on table payout_arrivals is
    'Money that a bank says has arrived under keys of payouts that could not be confirmed by it, and that no report shows to have come back: nothing more is sent for the part of the claim.';
comment on column payout_arrivals.reported_at is
    'When it arrived, by the latest line of a report. Null where an answer or a notice of the rail said so.';
