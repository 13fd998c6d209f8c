package migrations_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/migrations"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/quoting"
)

// beforePartitions is the last migration without partitions.
const beforePartitions = "0025"

// lastPartitions is the last migration that makes tables partitioned.
const lastPartitions = "0029"

// fillFormerDatabase returns a database of the schema before partitions, with every row of
// a played story.
func fillFormerDatabase(t *testing.T) (*dbpool.Database, string) {
	t.Helper()
	from := modeltest.New(t)
	from.StorePlain()
	from.PlayFullStory()
	exec(t, from.DB, "delete from operator_actions where operation = 'decide_challenge'") // unknown to that schema
	url := modeltest.URL(t)
	db := openDatabase(t, url)
	require.NoError(t, migrations.ApplyUpTo(t.Context(), db.Pool, beforePartitions))
	exec(t, db, `create table modeltest_jobs (ordinal bigint generated always as identity primary key, kind text not null, args json not null, done boolean not null default false)`)
	tables := readTexts(t, db, `select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname not like 'bun%'
		and relname not in ('schema_compatibility', 'status_transitions') order by 1`)
	exec(t, db, "set session_replication_role = replica; truncate "+strings.Join(tables, ", ")+"; reset session_replication_role")
	modeltest.CopyTables(t, from, &modeltest.Bundle{DB: db}, tables...)
	for _, name := range readTexts(t, from.DB, "select sequencename::text from pg_sequences where schemaname = 'public' and last_value is not null") {
		exec(t, db, fmt.Sprintf("select setval('%s', %s)", name, readTexts(t, from.DB, "select last_value::text from "+name)[0]))
	}
	return db, url
}

func readTexts(t *testing.T, db *dbpool.Database, query string) []string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), query)
	require.NoError(t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return texts
}

// schemaQuery describes everything about the tables and views that are no partitions. The
// foreign key of the ledger is at its partitions.
const schemaQuery = `with t as (select oid, relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition and relname <> 'partition_ranges')
	select t.relname || ' ' || conname || ' ' || pg_get_constraintdef(k.oid) || ' ' || convalidated from t join pg_constraint k on k.conrelid = t.oid
		where conparentid = 0 and conname <> 'ledger_entries_event_id_fkey'
	union all select replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') from t join pg_index i on i.indrelid = t.oid
	union all select pg_get_triggerdef(g.oid) from t join pg_trigger g on g.tgrelid = t.oid where not tgisinternal
	union all select t.relname || ' ' || pg_get_viewdef(t.oid) from t where exists (select from pg_views v where v.viewname = t.relname)
	union all select t.relname || ' ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || coalesce(col_description(t.oid, a.attnum), '')
		from t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
	union all select t.relname || ' ' || coalesce(obj_description(t.oid, 'pg_class'), '') from t
	union all select t.relname || ' ' || acl::text from t join pg_class c on c.oid = t.oid cross join unnest(c.relacl) acl
	order by 1`

// rowDigests returns a digest of the rows of each table that becomes partitioned, and of
// those that refer to them.
func rowDigests(t *testing.T, db *dbpool.Database) []string {
	t.Helper()
	var digests []string
	for _, table := range []string{"events", "event_sequence", "ledger_entries", "timeline_entries", "idempotency_keys"} {
		digests = append(digests, readTexts(t, db, "select '"+table+" ' || count(*) || coalesce(md5(string_agg(r::text, '|' order by r::text)), '') from "+table+" r")[0])
	}
	return digests
}

func TestPartitionsKeepRowsAndSchema(t *testing.T) {
	t.Parallel()
	db, url := fillFormerDatabase(t)
	exec(t, db, `insert into idempotency_keys select 'partner/acme', 'POST /v1/quotes', 'key-' || n, 'h', 201, null, 'body', now(), null from generate_series(1, 1000) n;
		do $$ begin if not exists (select from pg_roles where rolname = 'reporter') then create role reporter; end if; end $$;
		grant select on events, timeline_entries, ledger_entries, idempotency_keys to reporter`)
	rows, schema := rowDigests(t, db), readTexts(t, db, schemaQuery)
	require.NoError(t, migrations.ApplyUpTo(t.Context(), db.Pool, lastPartitions))
	require.Equal(t, rows, rowDigests(t, db))
	require.Equal(t, schema, readTexts(t, db, schemaQuery))
	names, err := migrations.Apply(t.Context(), db.Pool) // later ones may add tables
	require.NoError(t, err)
	require.NotEmpty(t, names)
	require.Empty(t, readTexts(t, db, "select id::text from events where tableoid <> 'events_before'::regclass union all select id::text from timeline_entries where tableoid <> 'timeline_entries_before'::regclass"))
	require.Empty(t, readTexts(t, db, `select name from partition_ranges where parent = 'ledger_entries' and not exists (select from pg_constraint
		where conrelid = name::regclass and contype = 'f' and confrelid = replace(name, 'ledger_entries', 'events')::regclass and convalidated)`))
	require.Equal(t, []string{"8"}, readTexts(t, db, "select count(*)::text from pg_inherits where inhparent = 'idempotency_keys'::regclass"))

	b := modeltest.Open(t, url)
	proof, err := b.Service.Events.VerifyChain(t.Context(), b.Operator, "acme")
	require.NoError(t, err)
	require.True(t, proof.Intact, "%v", proof.Faults)
	require.Empty(t, b.Violations())
	b.QuoteAndBind("quake-circle", nil)
	b.Relay()
	require.Empty(t, b.Violations())
	for statement, refusal := range map[string]string{
		"update ledger_entries set amount = amount + 1":                                "insert-only",
		"truncate ledger_entries_before":                                               "insert-only",
		"truncate ledger_entries":                                                      "insert-only",
		"delete from events where type = 'policy.activated'":                           "foreign key",
		"update timeline_entries set claim_id = gen_random_uuid()":                     "timeline_entries_claim_id_fkey",
		"insert into idempotency_keys select * from idempotency_keys":                  "duplicate key",
		"insert into event_sequence values ('acme', 0, 1, gen_random_uuid(), 'x', '')": "event_sequence_event_id_fkey",
	} {
		_, err := db.Pool.Exec(t.Context(), statement)
		require.ErrorContains(t, err, refusal, statement)
	}
}

// TestPartitionsMoveForeignIDs covers ids that this program did not make, above the border.
func TestPartitionsMoveForeignIDs(t *testing.T) {
	t.Parallel()
	db, url := fillFormerDatabase(t)
	exec(t, db, `set session_replication_role = replica;
		update event_sequence set event_id = 'ffffffff-0000-4000-8000-000000000001' where event_id = (select min(event_id::text)::uuid from ledger_entries);
		update events set id = 'ffffffff-0000-4000-8000-000000000001' where id = (select min(event_id::text)::uuid from ledger_entries);
		update ledger_entries set event_id = 'ffffffff-0000-4000-8000-000000000001' where event_id = (select min(event_id::text)::uuid from ledger_entries);
		reset session_replication_role`)
	rows := rowDigests(t, db)
	_, err := migrations.Apply(t.Context(), db.Pool)
	require.NoError(t, err)
	require.Equal(t, rows, rowDigests(t, db))
	require.Equal(t, []string{"1"}, readTexts(t, db, "select count(*)::text from events_default"))
	require.Equal(t, []string{"true"}, readTexts(t, db, "select (count(*) > 1)::text from ledger_entries_default"))
	require.Empty(t, modeltest.Open(t, url).Violations())
}

// TestClientsWriteDuringPartitioning lets clients work while the migrations run: no request
// fails, and every key is known afterwards.
func TestClientsWriteDuringPartitioning(t *testing.T) {
	t.Parallel()
	db, url := fillFormerDatabase(t)
	// This program stands in for the former one, and reads columns that came later.
	exec(t, db, "alter table partners add column terms jsonb not null default '{}'; alter table products add column retired_at timestamptz; alter table quotes add column offer bytea")
	tables, err := os.ReadFile("0042_price_histories.tx.up.sql")
	require.NoError(t, err)
	exec(t, db, string(tables))
	from := &modeltest.Bundle{DB: openDatabase(t, url), Files: t.TempDir()}
	service := modeltest.NewServiceWithKeys(t, from, modeltest.Keys())
	acme := modeltest.Partner("acme")
	request := quoting.Request{Product: "quake-circle", Context: []byte(`{"partner":"acme"}`)}
	var written atomic.Int64
	var clients sync.WaitGroup
	ended := make(chan struct{})
	for client := range 3 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				default:
				}
				if _, err := service.Quotes.Create(t.Context(), modeltest.WithKey(acme, fmt.Sprintf("%d-%d", client, n), "same"), request); err != nil {
					t.Errorf("request %d: %v", n, err)
					return
				}
				written.Add(1)
			}
		})
	}
	_, err = migrations.Apply(t.Context(), db.Pool)
	close(ended)
	clients.Wait()
	require.NoError(t, err)
	require.Positive(t, written.Load())
	require.Equal(t, []string{fmt.Sprint(written.Load())}, readTexts(t, db, "select count(*)::text from idempotency_keys where key ~ '^[0-2]-'"))
	_, err = service.Quotes.Create(t.Context(), modeltest.WithKey(acme, "0-0", "same"), request)
	require.ErrorAs(t, err, new(*store.Replay))
	_, err = service.Quotes.Create(t.Context(), modeltest.WithKey(acme, "0-0", "other"), request)
	require.Equal(t, apperr.CodeIdempotencyKeyReused, apperr.CodeOf(err))
	t.Logf("%d quotes", written.Load())
}
