-- The event occurrence.watch: preliminary readings put covers of a partner within reach.

alter table matching_figures add column within_reach integer not null default 0;
alter table matching_figures add constraint matching_figures_within_reach_check check (within_reach >= 0);
comment on column matching_figures.within_reach is 'Policies of the slice whose trigger a preliminary reading meets or nearly meets; counted when the slice is decided.';

create table occurrence_watches (
    occurrence_id uuid not null,
    partner text not null,
    covers bigint not null,
    constraint occurrence_watches_pkey primary key (occurrence_id, partner),
    constraint occurrence_watches_occurrence_id_fkey foreign key (occurrence_id) references occurrences (id),
    constraint occurrence_watches_covers_check check (covers > 0)
);
comment on table occurrence_watches is 'What the last occurrence.watch of a partner for an occurrence said.';
comment on column occurrence_watches.covers is 'Number of covers within reach. The next event follows when it has doubled.';
