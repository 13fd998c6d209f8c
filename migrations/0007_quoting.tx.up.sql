-- Products and quotes.

-- A published product never changes; a change is a new version.
create table products (
    key text not null,
    version integer not null,
    document text not null,
    digest text not null,
    created_at timestamptz not null,
    constraint products_pkey primary key (key, version),
    constraint products_version_check check (version >= 1)
);

create table quotes (
    id uuid not null,
    partner text not null,
    version bigint not null default 1,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    partner_reference text,
    metadata json,
    status text not null,
    product text not null,
    product_version integer not null,
    context json not null,
    ignored_context text[] not null,
    cover json not null,
    terms_hash text not null,
    price json not null,
    basis json not null,
    history json not null,
    premium_amount bigint not null,
    currency text not null,
    expires_at timestamptz not null,
    policy_id uuid,
    constraint quotes_pkey primary key (id, partner),
    constraint quotes_partner_fkey foreign key (partner) references partners (slug),
    constraint quotes_product_fkey foreign key (product, product_version) references products (key, version),
    constraint quotes_status_check check (status in ('priced', 'bound', 'expired')),
    constraint quotes_bound_has_policy_check check ((status = 'bound') = (policy_id is not null)),
    constraint quotes_premium_check check (premium_amount > 0)
);
create unique index quotes_partner_reference_key on quotes (partner, partner_reference) where partner_reference is not null;
create index quotes_list_idx on quotes (partner, id desc);
create index quotes_due_idx on quotes (expires_at) where status = 'priced';
-- Lists narrowed by status and product: an index probe for each combination that the filter leaves open finds a page, also
-- where nothing matches.
create index quotes_status_idx on quotes (partner, status, product, id desc);
