-- Products and quotes.

create table products (
    key text not null,
    version integer not null,
    document text not null,
    digest text not null,
    created_at timestamptz not null,
    constraint products_pkey primary key (key, version),
    constraint products_version_check check (version >= 1)
);
comment on table products is
    'Published products. A published version never changes; a change is a new version.';
comment on column products.document is 'The product document, as published.';
comment on column products.digest is 'Digest of the document.';

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
    constraint quotes_premium_check check (premium_amount > 0),
    constraint quotes_currency_check check (currency ~ '^[A-Z]{3}$')
);
comment on table quotes is
    'Priced offers of cover. A quote keeps everything that its price was computed from.';
comment on column quotes.context is 'What the partner asked for: the fields of the product''s JSON Schema.';
comment on column quotes.ignored_context is 'Members of the request that the product does not know.';
comment on column quotes.cover is 'The resolved cover: trigger, place, limit, payout curve, term.';
comment on column quotes.terms_hash is 'Hash of the terms, also on the policy.';
comment on column quotes.price is 'The price and its lines, in minor units.';
comment on column quotes.basis is 'What the price was computed from.';
comment on column quotes.history is 'Payouts that the cover would have had in the past.';
comment on column quotes.premium_amount is 'Premium in minor units of currency.';
comment on column quotes.policy_id is 'The policy that the quote was bound to.';
create unique index quotes_partner_reference_key on quotes (partner, partner_reference) where partner_reference is not null;
create index quotes_list_idx on quotes (partner, id desc);
create index quotes_due_idx on quotes (expires_at) where status = 'priced';
-- For lists by status and product: one index probe for each combination that the filter allows finds a page, also where
-- nothing matches.
create index quotes_status_idx on quotes (partner, status, product, id desc);
