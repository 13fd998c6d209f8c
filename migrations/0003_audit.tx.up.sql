-- What operators did and what was refused.

create table audit_entries (
    id uuid not null,
    created_at timestamptz not null,
    outcome text not null,
    operation text not null,
    actor_kind text not null,
    issuer text,
    actor text not null,
    client text not null,
    partner text,
    subject text,
    reason text,
    code text,
    request_id text,
    times bigint not null default 1,
    constraint audit_entries_pkey primary key (id),
    constraint audit_entries_outcome_check check (outcome in ('done', 'refused')),
    constraint audit_entries_times_check check (times > 0)
);
comment on table audit_entries is
    'What operators did, and which requests were refused. Insert-only; a refusal that repeats within a minute is one row with a count.';
comment on column audit_entries.outcome is 'done, or refused.';
comment on column audit_entries.operation is 'The operation''s name, as in the GraphQL schema or the REST route.';
comment on column audit_entries.actor_kind is 'operator, partner, source, system or anonymous.';
comment on column audit_entries.issuer is 'The issuer of the actor''s token: a person is a subject of an issuer.';
comment on column audit_entries.actor is 'Subject of the token, or the partner''s slug.';
comment on column audit_entries.client is 'OAuth client of the token.';
comment on column audit_entries.subject is 'Identifier of the record that was changed.';
comment on column audit_entries.reason is 'The operator''s reason; null where the operation needs none.';
comment on column audit_entries.code is 'Error code of a refusal.';
comment on column audit_entries.times is 'How often a refusal was repeated.';
create index audit_entries_subject_idx on audit_entries (subject, id) where subject is not null;
create index audit_entries_actor_idx on audit_entries (actor, id);
create index audit_entries_operation_idx on audit_entries (operation, id desc);
create index audit_entries_partner_idx on audit_entries (partner, id desc) where partner is not null;
create index audit_entries_outcome_idx on audit_entries (outcome, id desc);
create index audit_entries_created_idx on audit_entries (created_at);
create trigger audit_entries_insert_only before update or delete on audit_entries for each row execute function refuse_change();
create trigger audit_entries_not_truncated before truncate on audit_entries for each statement execute function refuse_change();
