package migrations_test

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/migrations"
	"parapet/model"
	"parapet/model/modeltest"
)

func TestMain(m *testing.M) { os.Exit(modeltest.Main(m)) }

func openDatabase(t *testing.T, url string) *model.Database {
	t.Helper()
	db, err := model.Open(t.Context(), url, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

func TestFourProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := modeltest.URL(t)
	var all sync.WaitGroup
	var applied sync.Map
	for i := range 4 {
		db := openDatabase(t, url)
		all.Go(func() {
			names, err := migrations.Apply(t.Context(), db.Pool)
			if err != nil {
				t.Error(err)
			}
			for _, name := range names {
				if other, twice := applied.LoadOrStore(name, i); twice {
					t.Errorf("%s was applied by %v and by %d", name, other, i)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, migrations.Check(t.Context(), openDatabase(t, url).Pool))
}

func TestApplyingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	db := openDatabase(t, modeltest.URL(t))
	require.ErrorIs(t, migrations.Check(t.Context(), db.Pool), migrations.ErrPending)
	first, err := migrations.Apply(t.Context(), db.Pool)
	require.NoError(t, err)
	require.NotEmpty(t, first)
	require.NoError(t, migrations.Check(t.Context(), db.Pool))
	second, err := migrations.Apply(t.Context(), db.Pool)
	require.NoError(t, err)
	require.Empty(t, second)
}

func TestManyCallersShareOnePool(t *testing.T) {
	t.Parallel()
	db := openDatabase(t, modeltest.URL(t))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := migrations.Apply(t.Context(), db.Pool); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestListColumnsAreFilledInBatches applies the migration that fills the columns of
// lists to more rows than a batch has, a part of which an earlier run has filled.
func TestListColumnsAreFilledInBatches(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	policy := b.QuoteAndBind("quake-circle", nil)
	_, _, err := b.Service.OpenClaim(t.Context(), b.Acme, model.ClaimRequest{PolicyID: policy.ID})
	require.NoError(t, err)
	b.Relay()
	conn, err := b.DB.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	for _, statement := range []string{
		"set session_replication_role = replica",
		`insert into claims select copy.* from (select c from claims c) as one (c), generate_series(2, 25001) as n,
			lateral jsonb_populate_record(one.c, jsonb_build_object('id', gen_random_uuid(), 'policy_sequence', n)) as copy`,
		`insert into events select copy.* from (select e from events e limit 1) as one (e), generate_series(1, 25000) as n,
			lateral jsonb_populate_record(one.e, jsonb_build_object('id', gen_random_uuid(), 'type', 'copied', 'subject_version', n)) as copy`,
		`insert into event_numbers (partner, sequence, event_id, hash)
			select partner, 1000 + row_number() over (), id, '' from events where type = 'copied'`,
		"update claims set product = case when random() < 0.2 then 'filled' end",
		"update event_numbers set type = case when random() < 0.2 then 'filled' end",
		"reset session_replication_role",
		"delete from bun_migrations where name = '20261123143608'",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	names, err := migrations.Apply(t.Context(), b.DB.Pool)
	require.NoError(t, err)
	require.Len(t, names, 1)
	var claims, numbers, batches int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select count(*) filter (where c.product in (p.product, 'filled')), count(distinct c.xmin::text)
		from claims c join policies p on p.id = c.policy_id`).Scan(&claims, &batches))
	require.Equal(t, 25001, claims)
	require.Equal(t, 1+3, batches, "the transaction that filled some, and three batches")
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), `select count(*) filter (where n.type in (e.type, 'filled')), count(distinct n.xmin::text)
		from event_numbers n join events e on e.id = n.event_id`).Scan(&numbers, &batches))
	require.Greater(t, numbers, 25000)
	require.Equal(t, 1+3, batches, "the transaction that filled some, and three batches")
	var left int
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select (select count(*) from claims where product is null) + (select count(*) from event_numbers where type is null)").Scan(&left))
	require.Zero(t, left)
}
