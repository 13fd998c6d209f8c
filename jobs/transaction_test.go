package jobs

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"parapet/internal/egress"
	"parapet/internal/filestore"
	"parapet/jobs/rail"
	"parapet/model/dbconn"
)

// TestClientsRefuseCallsInsideATransaction makes a rail call the network inside the
// transaction that stores orders.
func TestClientsRefuseCallsInsideATransaction(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files, _ := s.writtenFiles()
	s.createPendingPayouts(1)
	called := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ }))
	t.Cleanup(server.Close)
	client := egress.New(egress.Config{Loopback: true}).Client(time.Minute)
	folder, err := filestore.OpenFolder(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, folder.Close()) })
	bucket, err := filestore.Open("s3://bucket?endpoint=" + server.URL + "&region=us-east-1")
	require.NoError(t, err)
	calls := map[string]func(context.Context) error{
		"http": func(ctx context.Context) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
			require.NoError(t, err)
			response, err := client.Do(request)
			if err == nil {
				err = response.Body.Close()
			}
			return err
		},
		"bucket": func(ctx context.Context) error { return bucket.Put(ctx, "key", strings.NewReader("text")) },
		"put":    func(ctx context.Context) error { return folder.Put(ctx, "key", strings.NewReader("text")) },
		"open": func(ctx context.Context) error {
			file, err := folder.Open(ctx, "key")
			if err == nil {
				err = file.Close()
			}
			return err
		},
		"delete": func(ctx context.Context) error { return folder.Delete(ctx, "key") },
	}
	for name, call := range calls {
		by := &recordingBatchRail{BatchRail: files, enter: func(ctx context.Context, _ *pgx.Conn, _ []rail.Instruction) ([]rail.Result, error) {
			return nil, errors.Join(errors.New("undone"), call(ctx))
		}}
		require.ErrorIs(t, s.runReleaseBatch(by), dbconn.ErrInTransaction, name)
	}
	require.Zero(t, called)
	require.NoError(t, calls["put"](t.Context()))
	require.NoError(t, calls["open"](t.Context()))
	require.NoError(t, calls["http"](t.Context()), "outside of one they do")
	require.Equal(t, 1, called)
}
