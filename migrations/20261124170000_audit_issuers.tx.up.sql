-- A person is a subject of an issuer: two issuers may use one subject for two people. Other tables keep both in one column,
-- as issuer#subject. Earlier rows have no issuer.
alter table audit_entries add column issuer text;
