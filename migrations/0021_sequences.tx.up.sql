-- A batch of claims or payouts numbers its rows itself, under the lock of their policy or claim: the trigger reads the last
-- number for each row. Zero is what an older release inserts.

drop trigger claims_policy_sequence on claims;
create trigger claims_policy_sequence before insert on claims for each row when (coalesce(new.policy_sequence, 0) = 0) execute function assign_policy_sequence();
comment on column claims.policy_sequence is '1, 2, 3 … within the policy; a trigger assigns it unless the insert does. The highest is the number of claims.';
drop trigger payouts_claim_sequence on payouts;
create trigger payouts_claim_sequence before insert on payouts for each row when (coalesce(new.claim_sequence, 0) = 0) execute function assign_claim_sequence();
