-- Vitals ask at every scrape since when the oldest claim has waited for its first decision.
create index claims_undecided_idx on claims (created_at) where status = 'opened';
