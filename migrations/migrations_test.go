package migrations_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/migrations"
	"parapet/model"
	"parapet/model/kernel/dbpool"
	"parapet/model/modeltest"
)

func TestMain(m *testing.M) { os.Exit(modeltest.Main(m)) }

func openDatabase(t *testing.T, url string) *dbpool.Database {
	t.Helper()
	db, err := dbpool.Open(t.Context(), url, 4)
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

// TestOldReleaseRefusesDatabase covers migrate, serve and doctor, which all call Apply or Check.
func TestOldReleaseRefusesDatabase(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 4)
	exec(t, db, "update schema_compatibility set minimum_binary = 9999")
	tooOld := new(migrations.BinaryTooOldError)
	require.ErrorAs(t, migrations.Check(t.Context(), db.Pool), &tooOld)
	require.Equal(t, 9999, tooOld.Minimum)
	require.ErrorContains(t, tooOld, "needs a release that knows migration 9999")
	names, err := migrations.Apply(t.Context(), db.Pool)
	require.ErrorAs(t, err, &tooOld)
	require.Empty(t, names)
}

func TestSchemaOneReleaseAheadIsAccepted(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 4)
	exec(t, db, "insert into bun_migrations (name, group_id, migrated_at) values ('9998', 99, now())")
	require.NoError(t, migrations.Check(t.Context(), db.Pool))
	names, err := migrations.Apply(t.Context(), db.Pool)
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestEmptyDatabaseIsBehindThisRelease(t *testing.T) {
	t.Parallel()
	require.Equal(t, migrations.ErrPending, migrations.Check(t.Context(), openDatabase(t, modeltest.URL(t)).Pool), "without the text of Postgres")
}

func TestUnreadableMigrationsAreNotPending(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 4)
	exec(t, db, "alter table bun_migrations rename column group_id to other")
	err := migrations.Check(t.Context(), db.Pool)
	require.ErrorContains(t, err, "read migrations: ")
	require.NotErrorIs(t, err, migrations.ErrPending)
}

func TestUnreleasedDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 4)
	exec(t, db, "drop table schema_compatibility")
	require.ErrorIs(t, migrations.Check(t.Context(), db.Pool), migrations.ErrUnreleased)
	_, err := migrations.Apply(t.Context(), db.Pool)
	require.ErrorIs(t, err, migrations.ErrUnreleased)
}

func TestDatabaseWithProductsOfFormerPerilsIsRefused(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 4)
	exec(t, db, "insert into products (key, version, document, digest, created_at) values ('old', 1, 'trigger: {kind: storm_fix}', '', now())")
	exec(t, db, "delete from bun_migrations where name = '0016'")
	_, err := migrations.Apply(t.Context(), db.Pool)
	require.ErrorContains(t, err, "use an empty database")
	exec(t, db, "delete from products where key = 'old'")
	names, err := migrations.Apply(t.Context(), db.Pool)
	require.NoError(t, err)
	require.Equal(t, []string{"0016_perils"}, names)
}

func TestDatabasesWithProductsStayReadableByOlderReleases(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 4)
	for _, tc := range []struct {
		products string
		want     int
	}{{"select", 24}, {"delete from products", 31}} {
		exec(t, db, "update schema_compatibility set minimum_binary = 24; delete from bun_migrations where name = '0031'; "+tc.products)
		names, err := migrations.Apply(t.Context(), db.Pool)
		require.NoError(t, err)
		require.Equal(t, []string{"0031_measured_products"}, names)
		var minimum int
		require.NoError(t, db.Pool.QueryRow(t.Context(), "select minimum_binary from schema_compatibility").Scan(&minimum))
		require.Equal(t, tc.want, minimum)
	}
}

// TestGivenUpDeliveriesBecomeFailed applies 0017 to a database of the schema before it.
func TestGivenUpDeliveriesBecomeFailed(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 4)
	exec(t, db, `alter table deliveries drop constraint deliveries_status_check;
		alter table deliveries drop constraint deliveries_endpoint_id_fkey;
		drop index deliveries_failed_idx;
		alter table deliveries add constraint deliveries_status_check check (status in ('pending', 'delivered', 'parked'));
		create index deliveries_parked_idx on deliveries (endpoint_id, sequence) where status = 'parked';
		delete from bun_migrations where name = '0017'`)
	const insert = `insert into deliveries (id, partner, created_at, updated_at, endpoint_id, event_id, sequence, subject_id, status, attempts_in_round, attempts)
		select gen_random_uuid(), 'acme', now(), now(), gen_random_uuid(), gen_random_uuid(), 1, gen_random_uuid(), s, 1, '[]' from unnest(array[%s]) s`
	exec(t, db, fmt.Sprintf(insert, "'parked', 'pending', 'delivered', 'parked'"))
	names, err := migrations.Apply(t.Context(), db.Pool)
	require.NoError(t, err)
	require.Equal(t, []string{"0017_failed_deliveries"}, names)
	var failed, others int
	require.NoError(t, db.Pool.QueryRow(t.Context(), "select count(*) filter (where status = 'failed'), count(*) filter (where status in ('pending', 'delivered')) from deliveries").Scan(&failed, &others))
	require.Equal(t, []int{2, 2}, []int{failed, others})
	exec(t, db, fmt.Sprintf(insert, "'failed'"))
	_, err = db.Pool.Exec(t.Context(), fmt.Sprintf(insert, "'parked'"))
	require.ErrorContains(t, err, "deliveries_status_check")
}

func TestApplyWritesTransitionsAndKeepsOthers(t *testing.T) {
	t.Parallel()
	db, _ := modeltest.Database(t, 4)
	exec(t, db, "delete from status_transitions where object = 'claim'")
	exec(t, db, "update status_transitions set event = 'quote.sold' where to_status = 'bound'")
	exec(t, db, "insert into status_transitions values ('quote', 'priced', 'withdrawn', 'quote.withdrawn')")
	_, err := migrations.Apply(t.Context(), db.Pool)
	require.NoError(t, err)
	var all, sold, withdrawn int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `select count(*), count(*) filter (where event = 'quote.sold'), count(*) filter (where event = 'quote.withdrawn')
		from status_transitions`).Scan(&all, &sold, &withdrawn))
	require.Equal(t, []int{len(model.StatusTransitions()) + 1, 0, 1}, []int{all, sold, withdrawn}, "records of the past made the transition of another release")
}

func exec(t *testing.T, db *dbpool.Database, statement string) {
	t.Helper()
	_, err := db.Pool.Exec(t.Context(), statement)
	require.NoError(t, err)
}
