-- A determination shows its moment, which only its receipt had. Receipts that were made keep their hash.
update determinations set body = (body::jsonb || jsonb_build_object('occurred_at', receipt -> 'occurred_at'))::json
where receipt -> 'occurred_at' is not null and body -> 'occurred_at' is null;
