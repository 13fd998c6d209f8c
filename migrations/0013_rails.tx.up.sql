-- What rails inside this service keep: files for a bank, and the simulator.

-- The books of rails that pay by files: what was accepted, and the batch whose file
-- it is in. A key stands here once, so it is in one file at most. No account numbers.
create table payment_files (
    id text constraint payment_files_pkey primary key,
    sequence bigint not null generated always as identity,
    rail text not null,
    created_at timestamptz not null default date_trunc('second', clock_timestamp()),
    sealed_digest text,
    written_at timestamptz,
    written_digest text,
    constraint payment_files_written_check check ((written_at is null) = (written_digest is null))
);
create index payment_files_unwritten_idx on payment_files (rail, sequence) where written_at is null;

create table payment_orders (
    key text constraint payment_orders_pkey primary key,
    end_to_end_id text not null,
    rail text not null,
    payout_id text not null,
    amount bigint not null,
    currency text not null,
    payee text not null,
    file_id text constraint payment_orders_file_id_fkey references payment_files (id),
    created_at timestamptz not null default clock_timestamp(),
    set_aside_at timestamptz,
    settled_at timestamptz,
    constraint payment_orders_end_to_end_id_key unique (rail, end_to_end_id),
    constraint payment_orders_amount_check check (amount > 0),
    constraint payment_orders_left_out_check check (set_aside_at is null and settled_at is null or file_id is null)
);
create index payment_orders_waiting_idx on payment_orders (rail, currency, key) where file_id is null;
create index payment_orders_file_idx on payment_orders (file_id, key) where file_id is not null;
create index payment_orders_set_aside_idx on payment_orders (rail, key) where set_aside_at is not null;

-- The simulator rail's own books: what it executed, by the key it was given.
create table simulator_transfers (
    key text constraint simulator_transfers_pkey primary key,
    transfer json not null,
    created_at timestamptz not null default clock_timestamp()
);
