-- Cover that was cancelled before it began is not paid for: its premium is reversed in the ledger. Earlier ones had no reversal.
insert into ledger_entries (event_id, partner, account, policy_id, currency, amount, at)
    select c.id, p.partner, s.account, p.id, p.currency, -s.amount, c.occurred_at
    from policies p
        join events c on c.subject_id = p.id and c.partner = p.partner and c.type = 'policy.cancelled'
        cross join lateral (select le.account, sum(le.amount) as amount from ledger_entries le
            where le.policy_id = p.id and le.partner = p.partner and le.currency = p.currency and le.payout_id is null
                and le.account in ('premium_receivable', 'premium_written', 'commission', 'commission_payable')
            group by le.account) as s
    where p.cancelled_at < p.effective_at and s.amount <> 0;
--bun:split
create or replace view inv_ledger_tells_premiums as
    select p.id as subject, p.partner, 'the ledger has another premium than the policy' as wrong
    from policies p cross join lateral (
        select coalesce(sum(amount) filter (where account = 'premium_receivable'), 0) as receivable, coalesce(-sum(amount) filter (where account = 'premium_written'), 0) as written
        from ledger_entries le where le.policy_id = p.id and le.partner = p.partner and le.currency = p.currency and le.payout_id is null) as l
        cross join lateral (select case when p.cancelled_at < p.effective_at then 0 else p.premium_amount end as premium) as w
    where l.receivable <> w.premium or l.written <> w.premium;
--bun:split
comment on view inv_ledger_tells_premiums is 'The ledger has the premium of every policy, once, and none of cover that was cancelled before it began.';
