-- Which bank made a report: a key that went to one bank is not judged by another one's word under the same rail name. Null are
-- reports that an operator brought, and those of the previous release; they are judged by the rail's name.
alter table rail_reports add column rail_identity text;
