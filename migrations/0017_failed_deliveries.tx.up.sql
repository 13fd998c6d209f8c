-- A delivery that was given up has failed.

update schema_compatibility set minimum_binary = 17;
alter table deliveries drop constraint deliveries_status_check;
drop index deliveries_parked_idx;
update deliveries set status = 'failed' where status = 'parked';
alter table deliveries add constraint deliveries_status_check check (status in ('pending', 'delivered', 'failed'));
comment on column deliveries.status is 'failed: all attempts failed; it is sent again when the partner asks for it.';
create index deliveries_failed_idx on deliveries (endpoint_id, sequence) where status = 'failed';
