-- Checks the foreign key that 0028 made while everybody writes, and collects the statistics that autovacuum does not collect
-- for a partitioned table.

alter table event_sequence validate constraint event_sequence_event_id_fkey;
do $$ begin
    if exists (select from events) then
        analyze events;
        analyze ledger_entries;
        analyze timeline_entries;
    end if;
end $$;
