-- The check of a foreign key locks the row that it finds, which reads, changes and logs a page of payout_methods for every
-- payout of a large event. Payout methods are never deleted, and their id and partner never change; an invariant compares
-- them instead, and also their policy.
alter table payouts drop constraint payouts_payout_method_id_fkey;
create view inv_payout_methods as
    select po.id as subject, po.partner, 'its payout method does not exist, or belongs to another policy' as message
    from payouts po where po.payout_method_id is not null
        and not exists (select from payout_methods pm where pm.id = po.payout_method_id and pm.partner = po.partner and pm.policy_id = po.policy_id);
comment on view inv_payout_methods is 'A payout goes to an account of its policy.';
