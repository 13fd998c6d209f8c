-- The indexes of the sweeps held policies that no sweep looks for: exhausted ones among those that expire, and active
-- ones among those that are archived. A bind writes one entry less, and so does a claim that exhausts its policy. Binds
-- wait while the indexes are built, about a second for a million policies.
create index policies_expiry_due_idx on policies (expires_at) where status = 'active';
drop index policies_due_idx;
create index policies_archival_due_idx on policies (reportable_until) where status in ('exhausted', 'expired', 'cancelled');
drop index policies_archive_due_idx;
