-- The newest policies of a partner are found by its keys. Probing policies by partner, status and product for them reads
-- the index once per status and product. Binds wait while the index is built: about a second for a million policies.
create index policy_keys_list_idx on policy_keys (partner, id);
