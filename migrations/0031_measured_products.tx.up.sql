-- Products with a measurement are read by this release and later ones.

-- An older release that runs next to this one, or again after it, cannot read them. A database without products has none:
-- there, they are published at once. Elsewhere they are published after minimum_binary was raised.
update schema_compatibility set minimum_binary = 31 where not exists (select from products);
