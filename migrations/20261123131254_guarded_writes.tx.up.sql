-- A guarded write in a batch that ends with its commit: too few rows must undo the transaction, on the server.
create function require_rows(written bigint, expected bigint) returns void language plpgsql as
$$ begin
    if written <> expected then
        raise exception 'wrote % of % rows: others changed the rest meanwhile', written, expected using errcode = 'PA001';
    end if;
end $$;
