-- Who at Parapet did what to a partner's records, and why, in their own words. Private: no event, timeline, REST answer or
-- partner's query ever shows a row of it. Insert-only.
create table adjudications (
    id uuid not null,
    partner text not null,
    created_at timestamptz not null,
    operation text not null,
    author text not null,
    policy_id uuid,
    claim_id uuid,
    payout_id uuid,
    note text,
    constraint adjudications_pkey primary key (id, partner),
    constraint adjudications_partner_fkey foreign key (partner) references partners (slug),
    constraint adjudications_policy_id_fkey foreign key (policy_id, partner) references policies (id, partner),
    constraint adjudications_claim_id_fkey foreign key (claim_id, partner) references claims (id, partner),
    constraint adjudications_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint adjudications_operation_check check (operation in ('decide_claim', 'withdraw_claim', 'cancel_policy', 'block_payout', 'unblock_payout', 'register_partner', 'disable_partner', 'enable_partner'))
);
--bun:split
create index adjudications_claim_idx on adjudications (claim_id, id) where claim_id is not null;
--bun:split
create index adjudications_policy_idx on adjudications (policy_id, id) where policy_id is not null;
--bun:split

-- What blocked a payout before a person held it: lifting the hold must not lift that.
alter table payouts add column held_over text;
--bun:split
alter table payouts add constraint payouts_held_over_check check (held_over in ('payout_method_missing', 'payout_method_unverified', 'approval_required', 'rail_rejected'));
