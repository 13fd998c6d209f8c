-- Operators say which occurrences are one event, where places and times do not show it.

create table occurrence_relations (
    first_id uuid not null,
    second_id uuid not null,
    same_event boolean not null,
    reason text not null,
    author text not null,
    decided_at timestamptz not null,
    constraint occurrence_relations_pkey primary key (first_id, second_id),
    constraint occurrence_relations_first_id_fkey foreign key (first_id) references occurrences (id),
    constraint occurrence_relations_second_id_fkey foreign key (second_id) references occurrences (id),
    constraint occurrence_relations_order_check check (first_id < second_id),
    constraint occurrence_relations_reason_check check (reason <> '')
);
comment on table occurrence_relations is
    'What operators decided about pairs of occurrences: reports of one event, or of two. It takes precedence over times and places. The readings stay with their occurrences.';
comment on column occurrence_relations.same_event is 'True after a merge, false after a split; the last decision counts.';
comment on column occurrence_relations.author is 'Issuer and subject of the operator.';
