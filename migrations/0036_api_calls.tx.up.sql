-- Calls of partners that changed something or were refused, for their developers.

create table api_calls (
    id uuid not null,
    partner text not null,
    created_at timestamptz not null default clock_timestamp(),
    request_id text not null,
    client text not null,
    operation text not null,
    status integer not null,
    code text,
    detail text,
    constraint api_calls_pkey primary key (id)
);
comment on table api_calls is
    'Requests of partners that changed something or were refused, of the last seven days. Written in batches once a second; under load, and when a process dies, some are missing. A sweep deletes older ones.';
comment on column api_calls.request_id is 'X-Request-Id of the request; a GraphQL request has a row for each mutation and each error.';
comment on column api_calls.operation is 'The operation of the REST API or the field of GraphQL.';
comment on column api_calls.status is 'HTTP status of the response, or of the error of a GraphQL field.';
comment on column api_calls.code is 'Error code of a refusal.';
comment on column api_calls.detail is 'The sentence of a refusal.';
create index api_calls_partner_idx on api_calls (partner, id desc);
create index api_calls_request_idx on api_calls (request_id);
create index api_calls_created_idx on api_calls (created_at);

create index occurrences_source_event_idx on occurrences (source_event_id);
create index occurrence_aliases_alias_idx on occurrence_aliases (alias);
