-- Policies may insure against the temperature at a station.

alter table policies drop constraint policies_kind_check;
alter table policies add constraint policies_kind_check check (kind in ('earthquake', 'windstorm', 'rainfall', 'temperature'));
comment on column policies.kind is 'The peril: earthquake, windstorm, rainfall or temperature.';
comment on column policies.station is 'Of rainfall and temperature: the station.';

update schema_compatibility set minimum_binary = 18;
