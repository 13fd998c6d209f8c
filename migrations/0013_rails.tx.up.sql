-- What rails inside this service keep: files for a bank, and the simulator.

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
comment on table payment_files is
    'Files for a bank: each contains the payment orders that name it.';
comment on column payment_files.sequence is 'Order of the files; also the modifier in a NACHA file.';
comment on column payment_files.sealed_digest is 'Digest of the file, saved before it is put anywhere: from then on its orders stay as they are.';
comment on column payment_files.written_at is 'When the file was put into the outbox.';
comment on column payment_files.written_digest is 'Digest of the file that was put there.';
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
    constraint payment_orders_left_out_check check (set_aside_at is null and settled_at is null or file_id is null),
    constraint payment_orders_currency_check check (currency ~ '^[A-Z]{3}$')
);
comment on table payment_orders is
    'Orders that rails paying by file have accepted. A key is here once, so it is in one file at most. No account numbers.';
comment on column payment_orders.key is 'Idempotency key.';
comment on column payment_orders.end_to_end_id is 'The key shortened to the 15 characters that a file has room for.';
comment on column payment_orders.payee is 'The account, masked.';
comment on column payment_orders.file_id is 'The file that contains the order; null while it waits.';
comment on column payment_orders.set_aside_at is 'When the order was left out of its file because it is not what was accepted.';
comment on column payment_orders.settled_at is 'When the order was left out because the payout had been settled otherwise.';
create index payment_orders_waiting_idx on payment_orders (rail, currency, key) where file_id is null;
create index payment_orders_file_idx on payment_orders (file_id, key) where file_id is not null;
create index payment_orders_set_aside_idx on payment_orders (rail, key) where set_aside_at is not null;

create table simulator_transfers (
    key text constraint simulator_transfers_pkey primary key,
    transfer json not null,
    created_at timestamptz not null default clock_timestamp()
);
comment on table simulator_transfers is
    'What the simulated rail executed, by idempotency key. For development and the sandbox.';
comment on column simulator_transfers.transfer is 'The order and its outcome.';
