-- Sources withdraw readings. An occurrence of which none is left is retracted; final_track_at is when the whole final track of a storm was reported.
alter table observations
    drop constraint observations_stage_check,
    add constraint observations_stage_check check (stage in ('preliminary', 'final', 'retracted'));
--bun:split
alter table occurrences
    add column final_track_at timestamptz,
    drop constraint occurrences_stage_check,
    add constraint occurrences_stage_check check (stage in ('preliminary', 'final', 'retracted'));
--bun:split
-- An approved claim whose readings were retracted: its payouts are held, or an operator let them go out all the same.
alter table claims
    add column retraction text,
    add constraint claims_retraction_check check (retraction in ('held', 'lifted'));
--bun:split
-- A claim that was declined because its readings were retracted does not hold the occurrence: readings that come back are judged anew.
create unique index claims_policy_held_occurrence_key on claims (policy_id, occurrence_id, partner)
    where status <> 'declined' or reason_codes <> array['source_retracted'];
--bun:split
alter table claims drop constraint claims_policy_occurrence_key;
--bun:split
create index claims_awaiting_source_idx on claims (opened_at) where status = 'deferred' and reason_codes = array['source_provisional'];
