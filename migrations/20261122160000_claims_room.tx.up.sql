-- A claim's row is written anew with every sentence of its story, and no index knows what changes then. Where its page has room the
-- new version takes no part in the five indexes: a third of what a slice of payouts costs. The same holds for an attempt's end.
alter table claims set (fillfactor = 70);
--bun:split
alter table payout_attempts set (fillfactor = 70);
