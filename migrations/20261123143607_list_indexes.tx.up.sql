-- Lists narrowed by status and product: an index probe for each combination that the filter leaves open finds a page, also
-- where nothing matches. See listQuery in model/shelf_list.go.
create index quotes_state_idx on quotes (partner, status, product, id desc);
--bun:split
create index policies_state_idx on policies (partner, status, product, id desc);
--bun:split
-- The product of the claim's policy. 20261123143608 fills it, 20261123143609 indexes it, so that no lock on claims or
-- event_numbers lasts longer than one batch.
alter table claims add column product text;
--bun:split
-- Every step of a payout writes its indexes anew: one by status serves the whole list as well, by a probe for each status.
create index payouts_state_idx on payouts (partner, status, id desc);
--bun:split
drop index payouts_list_idx;
--bun:split
create index payout_methods_state_idx on payout_methods (partner, status, id desc);
--bun:split
-- A delivery is written delivered, mostly: what is not is few, and listed by this.
create index deliveries_undelivered_idx on deliveries (endpoint_id, partner, status, id desc) where status <> 'delivered';
--bun:split
-- The type of a numbered event, for the feed of some types.
alter table event_numbers add column type text;
--bun:split
create index occurrences_source_idx on occurrences (source, id desc);
--bun:split
create index occurrences_occurred_idx on occurrences (occurred_at);
--bun:split
create index observations_source_idx on observations (source, id desc);
--bun:split
create index observations_occurred_idx on observations (occurred_at);
--bun:split
create index findings_open_idx on findings (id desc) where closed_at is null;
--bun:split
create index audit_entries_operation_idx on audit_entries (operation, id desc);
--bun:split
create index audit_entries_partner_idx on audit_entries (partner, id desc) where partner is not null;
--bun:split
create index audit_entries_outcome_idx on audit_entries (outcome, id desc);
--bun:split
create index audit_entries_created_idx on audit_entries (created_at);
