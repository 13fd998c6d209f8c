package operations_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/devpg"
	"parapet/internal/filestore"
	"parapet/model"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// interruptedFiles is a file store that calls a function once its heartbeats were read.
type interruptedFiles struct {
	store.FileStore

	then func()
}

// Open implements model.Files.
func (f *interruptedFiles) Open(ctx context.Context, key string) (io.ReadCloser, error) {
	object, err := f.FileStore.Open(ctx, key)
	if strings.Count(key, "/") == 2 { // the heartbeat that follows, read last
		f.then()
	}
	return object, err
}

// A worker has read the file store when another one records a heartbeat, which the
// standby lacks; then the standby is promoted. The worker's transaction is the first one
// on the new primary.
func TestHeartbeatsAreComparedAgainAfterAFailover(t *testing.T) {
	t.Parallel()
	primary, err := devpg.Start(t.Context(), devpg.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = primary.Stop(context.Background()) })
	require.NoError(t, primary.CreateDatabase(t.Context(), "quiet"))
	b := modeltest.New(t, modeltest.OnServer(primary.URL("quiet")), modeltest.WithoutChecks())
	require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 2))
	standby, err := primary.StartStandby(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, standby.Stop(context.Background())) })
	replica, err := pgx.Connect(t.Context(), standby.URL("postgres"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = replica.Close(context.Background()) })
	for _, text := range []string{"alter system set primary_conninfo = ''", "select pg_reload_conf()"} {
		_, err = replica.Exec(t.Context(), text)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		var receivers int
		return replica.QueryRow(t.Context(), "select count(*) from pg_stat_wal_receiver").Scan(&receivers) == nil && receivers == 0
	}, time.Minute, 10*time.Millisecond)

	db, err := dbpool.Open(t.Context(), devpg.FailoverURL(primary, standby, "quiet"), 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	folder, err := filestore.OpenFolder(b.Files)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, folder.Close()) })
	files := &interruptedFiles{folder, sync.OnceFunc(func() {
		require.Nil(t, modeltest.RecordHeartbeats(t, b.Service, 1))
		b.DB.Close()
		require.NoError(t, primary.Stop(t.Context()))
		require.NoError(t, standby.Promote(t.Context()))
		db.Pool.Reset()
	})}
	worker, err := model.New(model.Config{DB: db, Queue: modeltest.Queue{}, Files: files, Keys: modeltest.Keys()})
	require.NoError(t, err)
	open := modeltest.RecordHeartbeats(t, worker, 1)
	require.NotNil(t, open)
	require.Contains(t, open.Evidence, "The workers recorded heartbeat 3")
}
