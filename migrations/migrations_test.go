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
