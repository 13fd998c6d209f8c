package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"parapet/internal/filestore"
	"parapet/model"
	"parapet/model/modeltest"
)

// A standby that lacks the last write before a file was sent is promoted: the heartbeat
// of the file shows the loss, and no other file is written.
func TestFailoverThatLosesTheOrdersOfAFileWritesNoOtherFile(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, folder := s.writtenFiles()
	s.createPendingPayouts(3)
	require.NoError(t, s.runReleaseBatch(files))
	store, err := filestore.OpenFolder(s.Files)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	s.Service, err = model.New(model.Config{DB: s.DB, Queue: modeltest.Queue{}, Files: store, Keys: modeltest.Keys()})
	require.NoError(t, err)
	_, err = s.Service.Operations.RecordHeartbeat(t.Context())
	require.NoError(t, err)
	var before int64
	require.NoError(t, s.pool.QueryRow(t.Context(), "select heartbeat from database_identity").Scan(&before))
	require.NoError(t, s.writeDueFiles(files))
	require.Len(t, written(t, folder), 1)

	for _, lost := range []string{
		"update payment_orders set file_id = null",
		"delete from payment_files",
	} {
		_, err = s.pool.Exec(t.Context(), lost)
		require.NoError(t, err)
	}
	_, err = s.pool.Exec(t.Context(), "update database_identity set heartbeat = $1", before)
	require.NoError(t, err)
	require.NoError(t, s.writeDueFiles(files))
	require.Len(t, written(t, folder), 1, "the orders are in the first file")
	signs, err := s.Service.Operations.RestoreSigns(t.Context())
	require.NoError(t, err)
	require.Contains(t, signs, "heartbeat")
}
