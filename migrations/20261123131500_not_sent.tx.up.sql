-- A call that failed before its order was written is no doubt: the rail has nothing, the payout waits as pending and its key
-- stays unused.
alter table payout_attempts drop constraint payout_attempts_outcome_check,
    add constraint payout_attempts_outcome_check check (outcome in ('accepted', 'refused', 'unknown', 'not_sent'));
--bun:split
insert into life_cycle values ('payout', 'releasing', 'pending', 'payout.unblocked');
