-- Two indexes of the exceptions of a report were alike to the planner: one by the report's line, and one by the report
-- alone, which reads all exceptions of a large report for each of its lines. One index serves both. Imports of reports
-- wait while it is built.
create index reconciliation_exceptions_report_line_idx on reconciliation_exceptions (report_id, line) where report_id is not null;
drop index reconciliation_exceptions_line_idx;
drop index reconciliation_exceptions_report_idx;
