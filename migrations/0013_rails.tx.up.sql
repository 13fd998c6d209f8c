-- What rails inside this service keep: files for a bank, and the simulator.

-- The books of rails that pay by files: what was accepted, and the batch whose file
-- it is in. A key stands here once, so it is in one file at most. No account numbers.
create table bank_batches (
    id text constraint bank_batches_pkey primary key,
    number bigint not null generated always as identity,
    rail text not null,
    created_at timestamptz not null default date_trunc('second', clock_timestamp()),
    sealed_digest text,
    written_at timestamptz,
    digest text,
    constraint bank_batches_written_check check ((written_at is null) = (digest is null))
);
create index bank_batches_unwritten_idx on bank_batches (rail, number) where written_at is null;

create table bank_entries (
    key text constraint bank_entries_pkey primary key,
    short text not null,
    rail text not null,
    payout_id text not null,
    amount bigint not null,
    currency text not null,
    payee text not null,
    batch_id text constraint bank_entries_batch_id_fkey references bank_batches (id),
    created_at timestamptz not null default clock_timestamp(),
    set_aside_at timestamptz,
    settled_at timestamptz,
    constraint bank_entries_short_key unique (rail, short),
    constraint bank_entries_amount_check check (amount > 0),
    constraint bank_entries_left_out_check check (set_aside_at is null and settled_at is null or batch_id is null)
);
create index bank_entries_waiting_idx on bank_entries (rail, currency, key) where batch_id is null;
create index bank_entries_batch_idx on bank_entries (batch_id, key) where batch_id is not null;
create index bank_entries_aside_idx on bank_entries (rail, key) where set_aside_at is not null;

-- The simulator rail's own books: what it executed, by the key it was given.
create table simulator_transfers (
    key text constraint simulator_transfers_pkey primary key,
    body json not null,
    created_at timestamptz not null default clock_timestamp()
);
