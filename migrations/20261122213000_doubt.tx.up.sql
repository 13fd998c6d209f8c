-- Vitals add up, at every scrape, what is in doubt or blocked: few payouts among all that ever were.
create index payouts_doubt_idx on payouts (status) where status in ('reconciling', 'blocked');
