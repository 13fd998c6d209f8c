-- Policies name their peril: earthquake, windstorm or rainfall, no longer the kind of observation that triggers them.

do $$
begin
    -- Terms are hashed and events are chained with the former words: such records cannot be changed.
    if exists (select from products where document ~ '\m(storm_fix|station_day)\M') then
        raise exception 'the database was made by a version from before the first release, and cannot be migrated: use an empty database (parapet dev --fresh discards the one in its folder)';
    end if;
end
$$;

alter table policies drop constraint policies_kind_check;
alter table policies add constraint policies_kind_check check (kind in ('earthquake', 'windstorm', 'rainfall'));
comment on column policies.kind is 'The peril: earthquake, windstorm or rainfall.';
comment on column moratoria.kind is 'The peril, as in policies; null: all perils.';
comment on table moratorium_rules is
    'Operators'' changes to the shipped rules: around which events the sale of their peril stops, and for how long.';
comment on column moratorium_rules.disabled is 'An operator switched the shipped rule of this peril off.';

update schema_compatibility set minimum_binary = 16;
