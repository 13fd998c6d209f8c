package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"parapet/migrations"
)

// privilegesQuery selects the role of the connection, and the tables and sequences on which
// it lacks a privilege that the service uses. The service only reads the tables of
// migrations, and only inserts into tables whose triggers refuse updates. Sequences of
// identity columns need no privilege.
const privilegesQuery = `with ours as (
	select c.oid, c.relnamespace, c.relkind, format('%I.%I', n.nspname, c.relname) as name,
		case when c.relkind = 'S' then '{usage}'
		when c.relname ~ '^(bun_migration|river_migration|schema_compatibility)' then '{select}'
		when exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid where t.tgrelid = c.oid and p.proname = 'refuse_change' and t.tgtype & 16 <> 0) then '{select,insert}'
		else '{select,insert,update,delete}' end::text[] as needed
	from pg_class c join pg_namespace n on n.oid = c.relnamespace
	where n.nspname in ('public', $1) and c.relkind in ('r', 'p', 'S') and not c.relispartition
		and not (c.relkind = 'S' and exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i')))
select current_user, coalesce(array_agg(name order by name) filter (where not has_schema_privilege(relnamespace, 'usage')
	or exists (select from unnest(needed) privilege where not case relkind when 'S' then has_sequence_privilege(ours.oid, privilege) else has_table_privilege(ours.oid, privilege) end)), '{}')
from ours`

// requirePrivileges returns an error unless the role of the connections may read and write
// what the service does.
func requirePrivileges(ctx context.Context, pool *pgxpool.Pool) error {
	var role string
	var lacking []string
	if err := pool.QueryRow(ctx, privilegesQuery, migrations.RiverSchema).Scan(&role, &lacking); err != nil {
		return fmt.Errorf("read privileges: %w", err)
	}
	if len(lacking) == 0 {
		return nil
	}
	if n := len(lacking); n > 3 {
		lacking = append(lacking[:3:3], fmt.Sprintf("%d more", n-3))
	}
	return errors.New("the role " + role + " lacks privileges on " + strings.Join(lacking, ", "))
}

// grantAdvice says how the role of the service gets the privileges that it lacks.
const grantAdvice = "As the owner of the tables run: grant usage on schema public, river to ROLE; grant select, insert, update, delete on all tables in schema public, river to ROLE; " +
	"grant usage, select on all sequences in schema public, river to ROLE. internal/deploy/postgres/roles.sql grants them for later migrations too."
