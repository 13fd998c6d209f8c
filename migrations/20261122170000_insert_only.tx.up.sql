-- What only grows is not emptied at one stroke either: row triggers do not see a truncate.
create trigger ledger_entries_not_truncated before truncate on ledger_entries for each statement execute function refuse_change();
--bun:split
create trigger payout_approvals_not_truncated before truncate on payout_approvals for each statement execute function refuse_change();
--bun:split
create trigger event_redactions_not_truncated before truncate on event_redactions for each statement execute function refuse_change();
