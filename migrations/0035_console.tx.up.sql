-- Indexes for the lists and the map of the console.

create index payouts_blocked_reason_idx on payouts (blocked_reason, id desc) where status = 'blocked';

-- The map of covers reads this index alone: bands of one degree of latitude, ordered by longitude, of the middle of the
-- footprint. It has no column that changes, so that updates of policies stay HOT.
create index policies_map_idx on policies (floor((@@ footprint)[1]), ((@@ footprint)[0])) include (footprint, partner, product, currency, limit_amount, id)
    where status = 'active' and footprint is not null;

-- Claims that wait for an operator: the condition is that of ToDecideSQL in model/claims.
create index claims_to_decide_idx on claims (id desc) where (status = 'opened' and origin = 'approval' or status = 'deferred' and (origin = 'approval'
    or reason_codes && array['duplicate_event', 'evidence_needed', 'compliance_hold', 'operator_decision', 'sources_disagree', 'challenge_accepted']));
