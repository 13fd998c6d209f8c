-- What identifies a policy moves to a table without updates. An update of a policy writes an entry to each index of
-- policies, and those of its quote, of its partner's reference and of the list by partner take it at random places: a large
-- event read and logged a page of each for every claim, and a book of a million policies was decided a third slower than
-- one of ten thousand. Binds and claims wait while the table is filled: some ten seconds for a million policies.
create table policy_keys (
    id uuid not null,
    partner text not null,
    quote_id uuid not null,
    partner_reference text
);
comment on table policy_keys is
    'What identifies a policy: a row for each, written by the trigger policies_key and never changed, so that updates of policies write no entries to these indexes.';
comment on column policy_keys.id is 'Id of the policy.';
create function add_policy_key() returns trigger language plpgsql as $$
begin
    insert into policy_keys (id, partner, quote_id, partner_reference) values (new.id, new.partner, new.quote_id, new.partner_reference);
    return null;
end $$;
create trigger policies_key after insert on policies for each row execute function add_policy_key();
insert into policy_keys (id, partner, quote_id, partner_reference) select id, partner, quote_id, partner_reference from policies;
alter table policy_keys add constraint policy_keys_quote_id_key unique (quote_id, partner);
create unique index policy_keys_partner_reference_key on policy_keys (partner, partner_reference) where partner_reference is not null;
