-- What was agreed with a partner, and versions of products that are not sold any more.
alter table partners add column if not exists terms jsonb not null default '{}';
comment on column partners.terms is 'What was agreed with the partner: products, commission_share, maximum_limits, requests_per_second, request_burst, contacts. An absent member has no bound of its own.';

alter table products add column if not exists retired_at timestamptz;
comment on column products.retired_at is 'Since when new quotes do not use the version; null while they may.';
