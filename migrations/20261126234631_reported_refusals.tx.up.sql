-- A report that refuses a payout in doubt is confirmed by an inquiry before another key is used.
alter table payout_attempts add column refusal_reported_at timestamptz;

comment on column payout_attempts.refusal_reported_at is
    'When a line of the rail''s report refused the key while no call under it had a clear end. The rail is asked then; the report decides where it cannot be asked or does not know the key.';
