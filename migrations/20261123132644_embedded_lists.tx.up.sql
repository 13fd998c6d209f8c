-- The sequence of a claim in its policy and of a payout in its claim: 1, 2, 3 … The highest is how many there are, so a record that shows
-- the newest of them and their count reads these rows only. Postgres assigns it at the insert, whoever writes; writers hold the parent's
-- lock, and the unique index refuses those that do not.
alter table claims add column policy_sequence bigint;
--bun:split
alter table payouts add column claim_sequence bigint;
--bun:split
update claims c set policy_sequence = n.sequence
from (select id, partner, row_number() over (partition by policy_id, partner order by id) as sequence from claims) as n
where n.id = c.id and n.partner = c.partner;
--bun:split
update payouts po set claim_sequence = n.sequence
from (select id, partner, row_number() over (partition by claim_id, partner order by id) as sequence from payouts) as n
where n.id = po.id and n.partner = po.partner;
--bun:split
alter table claims alter column policy_sequence set not null;
--bun:split
alter table payouts alter column claim_sequence set not null;
--bun:split
create unique index claims_policy_sequence_key on claims (policy_id, partner, policy_sequence);
--bun:split
create unique index payouts_claim_sequence_key on payouts (claim_id, partner, claim_sequence);
--bun:split
drop index claims_policy_idx;
--bun:split
drop index payouts_claim_idx;
--bun:split
-- Matching asks for the claims of a policy that may be about the same event, never for all of them.
create index claims_policy_occurred_idx on claims (policy_id, occurred_at) where occurrence_id is not null;
--bun:split
-- The quota of claims of origin approval asks for the newest of them.
create index claims_approval_idx on claims (policy_id, partner, policy_sequence) where origin = 'approval';
--bun:split
create function assign_policy_sequence() returns trigger language plpgsql as
$$ begin
    new.policy_sequence := coalesce((select max(policy_sequence) from claims where policy_id = new.policy_id and partner = new.partner), 0) + 1;
    return new;
end $$;
--bun:split
create function assign_claim_sequence() returns trigger language plpgsql as
$$ begin
    new.claim_sequence := coalesce((select max(claim_sequence) from payouts where claim_id = new.claim_id and partner = new.partner), 0) + 1;
    return new;
end $$;
--bun:split
create trigger claims_policy_sequence before insert on claims for each row execute function assign_policy_sequence();
--bun:split
create trigger payouts_claim_sequence before insert on payouts for each row execute function assign_claim_sequence();
--bun:split
create view inv_lists_are_counted as
    select c.id as subject, c.partner, format('its policy has no claim %s', c.policy_sequence - 1) as wrong
    from claims c where c.policy_sequence <> 1
        and not exists (select from claims b where b.policy_id = c.policy_id and b.partner = c.partner and b.policy_sequence = c.policy_sequence - 1)
    union all
    select po.id, po.partner, format('its claim has no payout %s', po.claim_sequence - 1)
    from payouts po where po.claim_sequence <> 1
        and not exists (select from payouts b where b.claim_id = po.claim_id and b.partner = po.partner and b.claim_sequence = po.claim_sequence - 1);
--bun:split
comment on view inv_lists_are_counted is 'The claims of a policy and the payouts of a claim are counted without gaps: the highest sequence is their count.';
