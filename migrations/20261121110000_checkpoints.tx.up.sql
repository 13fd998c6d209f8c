-- What a partner's history was at a time, signed, so that an end that was cut off
-- is missed.
create table event_checkpoints (
    partner text not null,
    sequence bigint not null,
    hash bytea not null,
    signed_at timestamptz not null,
    signature bytea not null,
    constraint event_checkpoints_pkey primary key (partner, sequence)
);
