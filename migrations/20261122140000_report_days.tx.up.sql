-- The UTC days of which a rail's report was taken, or given up: report_id is null where the rail never had one.
create table rail_report_days (
    rail text not null,
    day date not null,
    taken_at timestamptz not null,
    report_id uuid,
    constraint rail_report_days_pkey primary key (rail, day),
    constraint rail_report_days_report_id_fkey foreign key (report_id) references rail_reports (id)
);
