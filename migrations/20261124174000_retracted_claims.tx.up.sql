-- Decisions find a policy's claims for an occurrence by claims_policy_held_occurrence_key, and by this the few that do not hold it.
create index claims_policy_retracted_idx on claims (policy_id, occurrence_id) where status = 'declined' and reason_codes = array['source_retracted'];
