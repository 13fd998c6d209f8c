-- Two operators' word that a beneficiary has the money of a payout that was not sent from here, as after a restore. Whatever
-- lets the payout go on withdraws what one of them said.
create table external_settlements (
    id uuid not null,
    partner text not null,
    payout_id uuid not null,
    reference text not null,
    proposed_at timestamptz not null,
    proposed_by text not null,
    confirmed_at timestamptz,
    confirmed_by text,
    withdrawn_at timestamptz,
    constraint external_settlements_pkey primary key (id, partner),
    constraint external_settlements_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint external_settlements_confirmed_check check ((confirmed_at is null) = (confirmed_by is null)),
    constraint external_settlements_two_operators_check check (confirmed_by <> proposed_by),
    constraint external_settlements_ended_once_check check (confirmed_at is null or withdrawn_at is null)
);
--bun:split
create unique index external_settlements_open_key on external_settlements (payout_id, partner) where confirmed_at is null and withdrawn_at is null;
--bun:split
alter table adjudications
    drop constraint adjudications_operation_check,
    add constraint adjudications_operation_check check (operation in ('decide_claim', 'withdraw_claim', 'cancel_policy', 'block_payout', 'unblock_payout', 'approve_payout', 'release_payout', 'resolve_payout', 'settle_payout', 'register_partner', 'disable_partner', 'enable_partner'));
