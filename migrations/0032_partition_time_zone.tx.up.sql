-- A month is added to a time in the time zone of the session. The program's sessions use UTC; a session of psql may not.
alter function add_month_partitions(timestamptz, timestamptz) set timezone = 'UTC';
