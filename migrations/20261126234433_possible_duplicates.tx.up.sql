-- Claims that wait because another claim of the policy counts which may be for the same event.
create index claims_possible_duplicate_idx on claims (policy_id) where status = 'deferred' and reason_codes = array['duplicate_event'];
