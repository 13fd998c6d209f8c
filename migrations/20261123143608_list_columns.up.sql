-- Fills the columns of 20261123143607 in batches, each in a transaction of its own: one statement would lock every row of a
-- large database, and keep vacuum from all tables, until it ends. A run that is cut off is repeated and skips what is filled.
do $$
declare
    last_id uuid := '00000000-0000-0000-0000-000000000000';
    next_id uuid;
begin
    loop
        select id into next_id from (select id from claims where id > last_id order by id limit 10000) as batch order by id desc limit 1;
        exit when not found;
        update claims c set product = p.product from policies p
        where c.id > last_id and c.id <= next_id and c.product is null and p.id = c.policy_id and p.partner = c.partner;
        last_id := next_id;
        commit;
    end loop;
end $$;
--bun:split
do $$
declare
    last_partner text := '';
    last_sequence bigint := 0;
    next_partner text;
    next_sequence bigint;
begin
    loop
        select partner, sequence into next_partner, next_sequence from (
            select partner, sequence from event_numbers where (partner, sequence) > (last_partner, last_sequence) order by partner, sequence limit 10000
        ) as batch order by partner desc, sequence desc limit 1;
        exit when not found;
        update event_numbers n set type = e.type from events e
        where (n.partner, n.sequence) > (last_partner, last_sequence) and (n.partner, n.sequence) <= (next_partner, next_sequence)
            and n.type is null and e.id = n.event_id and e.partner = n.partner;
        last_partner := next_partner;
        last_sequence := next_sequence;
        commit;
    end loop;
end $$;
