-- The service may run as a role that owns no table: the sweep adds partitions, and collects the statistics of partitioned
-- tables, through functions with the rights of the role that owns the tables.
do $$ begin
    execute format('alter function add_month_partitions(timestamptz, timestamptz) security definer set search_path = %I, pg_temp', current_schema());
end $$;

create function analyze_partitioned(partitioned regclass) returns void language plpgsql security definer as
$$ begin
    if not exists (select from pg_class where oid = partitioned and relkind = 'p' and relowner = current_user::regrole) then
        raise exception '% is no partitioned table of ours', partitioned;
    end if;
    execute format('analyze %s', partitioned);
end $$;
do $$ begin
    execute format('alter function analyze_partitioned(regclass) set search_path = %I, pg_temp', current_schema());
end $$;
comment on function analyze_partitioned is 'Collects the statistics of a partitioned table, which autovacuum does not. The sweep calls it.';
