-- The database of Parapet with two roles. parapet_owner owns the tables: parapet migrate
-- uses it. parapet_service reads and writes rows: parapet serve and the commands of
-- operators use it. It can change no table, no function and no trigger, so that the lines
-- of the ledger, of events and of the audit log cannot be changed through it.
--
-- Run it once, as a role that may create roles and databases, before the first migration:
--   OWNER_PASSWORD=… SERVICE_PASSWORD=… psql -f roles.sql postgres://…
\set ON_ERROR_STOP on
\getenv owner_password OWNER_PASSWORD
\getenv service_password SERVICE_PASSWORD
create role parapet_owner login password :'owner_password';
create role parapet_service login password :'service_password';
create database parapet owner parapet_owner;
\connect parapet
revoke all on database parapet from public;
grant connect on database parapet to parapet_service;
revoke all on schema public from public;
grant all on schema public to parapet_owner;
grant usage on schema public to parapet_service;
create schema river authorization parapet_owner;
grant usage on schema river to parapet_service;
alter default privileges for role parapet_owner in schema public grant select, insert, update, delete on tables to parapet_service;
alter default privileges for role parapet_owner in schema public grant usage, select on sequences to parapet_service;
alter default privileges for role parapet_owner in schema river grant select, insert, update, delete on tables to parapet_service;
alter default privileges for role parapet_owner in schema river grant usage, select on sequences to parapet_service;
