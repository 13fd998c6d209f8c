-- What two people consented to pay. digest names exactly that: see model/approval.go. Insert-only, and Postgres sees to it.
create function refuse_change() returns trigger language plpgsql as
$$ begin raise exception '% is insert-only', tg_table_name; end $$;
--bun:split
create table payout_approvals (
    id uuid not null,
    partner text not null,
    created_at timestamptz not null,
    payout_id uuid not null,
    digest text not null,
    author text not null,
    note text,
    constraint payout_approvals_pkey primary key (id, partner),
    constraint payout_approvals_payout_id_fkey foreign key (payout_id, partner) references payouts (id, partner),
    constraint payout_approvals_author_key unique (payout_id, digest, author, partner)
);
--bun:split
create trigger payout_approvals_insert_only before update or delete on payout_approvals for each row execute function refuse_change();
--bun:split

-- How many must approve; settled: the beneficiary has the money although the payout was cancelled.
alter table payouts
    add column approvals_needed integer not null default 0,
    add column settled boolean not null default false,
    add constraint payouts_settled_check check (not settled or status = 'cancelled');
--bun:split
update payouts set approvals_needed = 2 where 'approval_required' in (blocked_reason, held_over);
--bun:split
-- When an account that took the place of another may be paid to without anybody's consent.
alter table payout_methods add column cools_until timestamptz;
--bun:split
alter table adjudications drop constraint adjudications_operation_check;
--bun:split
alter table adjudications add constraint adjudications_operation_check check (operation in ('decide_claim', 'withdraw_claim', 'cancel_policy', 'block_payout', 'unblock_payout', 'approve_payout', 'release_payout', 'resolve_payout', 'register_partner', 'disable_partner', 'enable_partner'));
