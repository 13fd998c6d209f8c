-- Progress of an event: the policies of each slice by partner and currency.

create table matching_figures (
    occurrence_id uuid not null,
    version bigint not null,
    number integer not null,
    partner text not null,
    currency text not null,
    candidates integer not null,
    constraint matching_figures_pkey primary key (occurrence_id, version, number, partner, currency),
    constraint matching_figures_matching_fkey foreign key (occurrence_id, version) references matchings (occurrence_id, version),
    constraint matching_figures_candidates_check check (candidates >= 0)
);
comment on table matching_figures is
    'Policies that the newest version of an occurrence may affect, by slice, partner and currency. A policy counts once. A slice without a row in matching_slices was decided.';
comment on column matching_figures.number is 'Number of the slice.';
comment on column matching_figures.candidates is 'Policies in the slice.';

-- A partner reads its own claims for an occurrence, independent of how many others have.
create index claims_occurrence_partner_idx on claims (occurrence_id, partner) where occurrence_id is not null;
drop index claims_occurrence_idx;
