-- A payout for an event that was paid already is an exception that no report shows.
alter table findings
    alter column rail drop not null,
    add column related_payout_id uuid,
    add constraint findings_related_payout_id_fkey foreign key (related_payout_id, partner) references payouts (id, partner),
    add constraint findings_related_check check ((kind = 'paid_twice') = (related_payout_id is not null)),
    drop constraint findings_kind_check,
    add constraint findings_kind_check check (kind in ('missing', 'unknown', 'amount', 'beneficiary', 'state', 'duplicate', 'reversed', 'unmatched', 'contradiction', 'paid_twice'));
--bun:split
create unique index findings_paid_twice_key on findings (payout_id, partner) where kind = 'paid_twice';
