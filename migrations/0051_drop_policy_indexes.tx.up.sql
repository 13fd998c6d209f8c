-- The indexes that policy_keys replaces, and that of the list by partner: it reads the index by partner, status and product.
-- The new ones take the names of the old ones, which say to earlier releases what a violation means.
alter table policies drop constraint policies_quote_id_key;
drop index policies_partner_reference_key, policies_list_idx;
alter table policy_keys rename constraint policy_keys_quote_id_key to policies_quote_id_key;
alter index policy_keys_partner_reference_key rename to policies_partner_reference_key;
