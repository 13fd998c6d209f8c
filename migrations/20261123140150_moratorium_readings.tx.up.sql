-- The readings of an event that close the places around them, each until a time of its own: a storm's older fixes go on closing what
-- lies behind it.
alter table moratoria add column readings json;
--bun:split
-- Set: an operator took the shipped rule of this kind away.
alter table moratorium_rules add column disabled boolean not null default false;
