package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

func TestEveryConstraintIsNamed(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 2)
	rows, err := db.Pool.Query(t.Context(), `select c.relname, k.conname, k.contype::text from pg_constraint k join pg_class c on c.oid = k.conrelid
		join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and not c.relispartition and k.conparentid = 0 and c.relname not like 'bun_%' and c.relname <> 'modeltest_jobs'
		union all select c.relname, i.relname, 'i' from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
		join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and not c.relispartition and x.indisunique and c.relname not like 'bun_%' and c.relname <> 'modeltest_jobs'`)
	require.NoError(t, err)
	defer rows.Close()
	endings := map[string]string{"p": "_pkey", "f": "_fkey", "u": "_key", "c": "_check", "i": "key"}
	exists := make(map[string]bool)
	for rows.Next() {
		var table, name, kind string
		require.NoError(t, rows.Scan(&table, &name, &kind))
		exists[name] = true
		if table == "policy_keys" { // the former table's name, which earlier releases know
			table = "policies"
		}
		require.True(t, strings.HasPrefix(name, table+"_") && strings.HasSuffix(name, endings[kind]), "%s of %s", name, table)
		require.NotRegexp(t, `\d$`, name, "a name that Postgres made up")
	}
	require.NoError(t, rows.Err())
	for _, name := range store.Constraints() {
		require.True(t, exists[name], "constraint.go speaks of %s, which the schema lacks", name)
	}
}
