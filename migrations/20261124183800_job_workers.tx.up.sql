-- Processes that work jobs. The jobs of one that has written nothing for a while are worked by others.
create table job_workers (
    name text constraint job_workers_pkey primary key,
    seen_at timestamptz not null,
    silent_since timestamptz
);
