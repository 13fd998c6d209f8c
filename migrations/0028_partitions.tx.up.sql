-- Events, timeline entries and the ledger become partitioned by month: see 0026. Nothing is read here unless 0027 found ids
-- above the border. Keys, foreign keys, checks, indexes, triggers, grants and comments stay.

create view partition_ranges as
    select p.relname::text as parent, c.relname::text as name, (substring(b.bounds from 'FROM \(''([0-9a-f-]{36})''\)'))::uuid as lower_id,
        (substring(b.bounds from 'TO \(''([0-9a-f-]{36})''\)'))::uuid as upper_id, b.bounds = 'DEFAULT' as is_default
    from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent cross join lateral (select pg_get_expr(c.relpartbound, c.oid) as bounds) as b
    where p.relname in ('events', 'ledger_entries', 'timeline_entries') and p.relnamespace = 'public'::regnamespace and c.relispartition;
comment on view partition_ranges is 'The partitions by month, from lower_id (null: the lowest) up to but not including upper_id.';

-- Creates a partition without a lock that keeps writers waiting for more than an instant: the table is made apart and attached.
create function add_partition(parent text, name text, bounds text) returns void language plpgsql as
$$ declare
    definition text;
begin
    execute format('create table %I (like %I including all)', name, parent);
    execute format('comment on table %I is %L', name, 'Partition of ' || parent || '.');
    -- Triggers of rows come with the parent; those of statements do not.
    for definition in select regexp_replace(pg_get_triggerdef(t.oid), ' ON (public\.)?' || parent || ' ', format(' ON %I ', name)) from pg_trigger t
            where t.tgrelid = parent::regclass and not t.tgisinternal and t.tgtype & 1 = 0 loop
        execute definition;
    end loop;
    -- A posting is in the same range as its event, so each partition refers to one of events: a foreign key to all of them
    -- would look into each for every row.
    if parent = 'ledger_entries' then
        execute format('alter table %I add constraint ledger_entries_event_id_fkey foreign key (event_id, partner) references %I (id, partner)',
            name, replace(name, 'ledger_entries', 'events'));
    end if;
    execute format('alter table %I attach partition %I %s', parent, name, bounds);
end $$;

-- Creates what is missing of the partitions of this month and the next three, and returns their names. A month of which a
-- default partition has rows already stays in it. When long transactions do not let it have the locks, it makes none.
create function add_month_partitions(real_now timestamptz, business timestamptz) returns text[] language plpgsql as
$$ declare
    former_timeout text := current_setting('lock_timeout');
    made text[] := '{}';
    item record;
    parent text;
    used boolean;
begin
    perform pg_advisory_xact_lock(hashtext('partitions'));
    perform set_config('lock_timeout', '500ms', true);
    begin
        for item in select parents, at + n * interval '1 month' as month, to_char((at + n * interval '1 month') at time zone 'UTC', '_YYYY_MM') as ending
                from (values (array['events', 'ledger_entries'], date_trunc('month', real_now, 'UTC')), (array['timeline_entries'], date_trunc('month', business, 'UTC'))) as i (parents, at),
                    generate_series(0, 3) as n
                where not exists (select from partition_ranges r where r.parent = any (i.parents) and not r.is_default
                    and (r.lower_id is null or r.lower_id < lowest_uuid(at + (n + 1) * interval '1 month')) and r.upper_id > lowest_uuid(at + n * interval '1 month')) loop
            -- A posting is in a default partition only if its event is.
            execute format('select exists (select from %I where %I >= $1 and %2$I < $2)', item.parents[1] || '_default', case item.parents[1] when 'events' then 'id' else 'claim_id' end)
                into used using lowest_uuid(item.month), lowest_uuid(item.month + interval '1 month');
            continue when used;
            foreach parent in array item.parents loop
                perform add_partition(parent, parent || item.ending, format('for values from (%L) to (%L)', lowest_uuid(item.month), lowest_uuid(item.month + interval '1 month')));
                made := made || (parent || item.ending);
            end loop;
        end loop;
    exception when lock_not_available then
        made := '{}'; -- the next turn tries again
    end;
    perform set_config('lock_timeout', former_timeout, true);
    return made;
end $$;
comment on function add_month_partitions is
    'real_now: the time of the processes, in the ids of events and postings. business: business_now(), in the ids of claims. The sweep calls it.';

-- The border that 0026 gave to a table; null if 0027 found ids above it.
create function checked_border(parent text) returns uuid language sql as
$$ select substring(pg_get_constraintdef(oid) from '[0-9a-f-]{36}')::uuid from pg_constraint where conrelid = parent::regclass and conname = parent || '_border_check' $$;

-- Makes a table the first partition of a new one, up to a border.
create function become_partitioned(parent text, key text, border uuid) returns void language plpgsql as
$$ declare
    former text := parent || '_before';
    is_checked boolean := checked_border(parent) is not null;
    indexes text[] := array(select pg_get_indexdef(i.indexrelid) from pg_index i where i.indrelid = parent::regclass
        and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = i.indrelid));
    triggers text[] := array(select pg_get_triggerdef(oid) from pg_trigger where tgrelid = parent::regclass and not tgisinternal);
    keys text[] := array(select format('alter table %I add constraint %I %s', parent, conname, pg_get_constraintdef(oid)) from pg_constraint
        where conrelid = parent::regclass and contype in ('p', 'f') and conname <> 'ledger_entries_event_id_fkey' order by contype desc);
    grants text[] := array(select format('grant %s on %I to %s%s', a.privilege_type, parent, case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
            case when a.is_grantable then ' with grant option' else '' end)
        from pg_class c cross join lateral aclexplode(c.relacl) a where c.oid = parent::regclass and a.grantee <> c.relowner);
    statement text;
begin
    for statement in select format('alter index %I rename to %I', c.relname, former || substr(c.relname, length(parent) + 1)) from pg_index i
            join pg_class c on c.oid = i.indexrelid where i.indrelid = parent::regclass loop
        execute statement;
    end loop;
    execute format('alter table %I rename to %I', parent, former);
    execute format('create table %I (like %I including defaults including constraints including comments including storage) partition by range (%I)', parent, former, key);
    execute format('alter table %I drop constraint if exists %I', parent, parent || '_border_check');
    execute format('comment on table %I is %L', parent, obj_description(former::regclass, 'pg_class'));
    execute format('comment on table %I is %L', former, 'Partition of ' || parent || ': the rows of the time before it was partitioned, and of the months until then.');
    -- Attaching gives the former table the triggers of rows again.
    for statement in select format('drop trigger %I on %I', tgname, former) from pg_trigger where tgrelid = former::regclass and not tgisinternal and tgtype & 1 = 1 loop
        execute statement;
    end loop;
    foreach statement in array keys || indexes || triggers || grants loop
        execute statement;
    end loop;
    perform add_partition(parent, parent || '_default', 'default');
    if not is_checked then
        execute format('insert into %I select * from %I where %I >= %L', parent || '_default', former, key, border);
        execute format('delete from %I where %I >= %L', former, key, border);
        execute format('alter table %I add constraint %I check (%I < %L)', former, parent || '_border_check', key, border);
    end if;
    execute format('alter table %I attach partition %I for values from (minvalue) to (%L)', parent, former, border);
    execute format('alter table %I drop constraint %I', former, parent || '_border_check');
end $$;

do $$
declare
    views record;
    business timestamptz;
    border uuid;
    is_checked boolean;
    statement text;
begin
    perform lock_for_change('claims, events, event_sequence, event_redactions, ledger_entries, timeline_entries, idempotency_keys');
    business := greatest(clock_timestamp(), business_now());
    -- Views follow a table that is renamed: those of these tables are written again.
    select array_agg(v.oid::regclass::text) as names, array_agg(pg_get_viewdef(v.oid)) as texts into views from pg_class v
        where v.relkind = 'v' and exists (select from pg_rewrite w join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
            where w.ev_class = v.oid and d.refobjid in ('events'::regclass, 'ledger_entries'::regclass, 'timeline_entries'::regclass));
    alter table event_sequence drop constraint event_sequence_event_id_fkey;
    alter table event_redactions drop constraint event_redactions_event_id_fkey;
    -- Events and ledger have the same borders.
    is_checked := checked_border('events') is not null and checked_border('ledger_entries') is not null;
    border := coalesce(checked_border('events'), checked_border('ledger_entries'), lowest_uuid(date_trunc('month', clock_timestamp() + interval '7 days', 'UTC') + interval '1 month'));
    if not is_checked then
        alter table ledger_entries drop constraint ledger_entries_event_id_fkey;
    end if;
    perform become_partitioned('events', 'id', border);
    perform become_partitioned('ledger_entries', 'event_id', border);
    if not is_checked then
        alter table ledger_entries_before add constraint ledger_entries_event_id_fkey foreign key (event_id, partner) references events_before (id, partner);
    end if;
    perform become_partitioned('timeline_entries', 'claim_id',
        coalesce(checked_border('timeline_entries'), lowest_uuid(date_trunc('month', business + interval '7 days', 'UTC') + interval '1 month')));
    -- 0029 checks the former rows.
    alter table event_sequence add constraint event_sequence_event_id_fkey foreign key (event_id, partner) references events (id, partner) not valid;
    alter table event_redactions add constraint event_redactions_event_id_fkey foreign key (event_id, partner) references events (id, partner);
    for i in 1..coalesce(cardinality(views.names), 0) loop
        execute format('create or replace view %s as %s', views.names[i], views.texts[i]);
    end loop;
    perform add_month_partitions(clock_timestamp(), business);

    for statement in select format('grant %s on idempotency_keys_next to %s%s', a.privilege_type, case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
            case when a.is_grantable then ' with grant option' else '' end)
            from pg_class c cross join lateral aclexplode(c.relacl) a where c.oid = 'idempotency_keys'::regclass and a.grantee <> c.relowner loop
        execute statement;
    end loop;
    drop table idempotency_keys;
    alter table idempotency_keys_next rename to idempotency_keys;
    alter index idempotency_keys_next_pkey rename to idempotency_keys_pkey;
    alter index idempotency_keys_next_due_idx rename to idempotency_keys_due_idx;
    alter index idempotency_keys_next_sealed_idx rename to idempotency_keys_sealed_idx;
end $$;
drop function become_partitioned;
drop function checked_border;
drop function copy_idempotency_key;
