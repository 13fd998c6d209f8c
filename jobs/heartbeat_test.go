package jobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/jobs/fetch"
	"parapet/model"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

// brokenFiles is a file store that cannot be used until it is repaired.
type brokenFiles struct {
	mended atomic.Bool
	reads  chan struct{}
}

var errBroken = errors.New("connection refused")

func (f *brokenFiles) Open(ctx context.Context, _ string) (io.ReadCloser, error) {
	if f.mended.Load() {
		return io.NopCloser(bytes.NewReader([]byte(`{"heartbeat": 9}`))), nil // later than the database's
	}
	select {
	case f.reads <- struct{}{}:
	case <-ctx.Done():
	}
	return nil, errBroken
}

func (f *brokenFiles) Put(context.Context, string, io.Reader) error { return errBroken }

func (f *brokenFiles) Delete(context.Context, string) error { return errBroken }

// workersWith returns workers with a broken file store.
func workersWith(s *fixture, files store.FileStore) *Workers {
	s.t.Helper()
	queue, err := NewQueue(s.pool)
	require.NoError(s.t, err)
	service, err := model.New(model.Config{DB: s.DB, Queue: queue, Files: files, Keys: modeltest.Keys(), Development: true})
	require.NoError(s.t, err)
	workers, err := NewWorkers(Config{Pool: s.pool, Service: service, Rail: s.rail, Fetch: &fetch.Fetcher{}, Sender: s.newSender(), Log: s.newLogger()})
	require.NoError(s.t, err)
	workers.heartbeat.retry = time.Millisecond
	return workers
}

// Only the file store shows whether the database was restored: no job runs before it can
// be read.
func TestWorkersWaitForTheFileStore(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	files := &brokenFiles{reads: make(chan struct{})}
	workers, started := workersWith(s, files), make(chan error)
	go func() { started <- workers.Start(t.Context()) }()
	for range 3 {
		<-files.reads
	}
	select {
	case err := <-started:
		require.Fail(t, "it did not wait", err)
	default:
	}
	files.mended.Store(true)
	var err error
	for waits := true; waits; {
		select {
		case <-files.reads:
		case err = <-started:
			waits = false
		}
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, workers.Stop(context.WithoutCancel(t.Context()))) })
	require.True(t, workers.heartbeat.restoreLogged)
	stopped, err := s.Service.Controls.AreReleasesStopped(t.Context())
	require.NoError(t, err)
	require.True(t, stopped, "before any job runs")
}

func TestWorkersThatWaitForTheFileStoreCanBeStopped(t *testing.T) {
	t.Parallel()
	files := &brokenFiles{reads: make(chan struct{})}
	workers, started := workersWith(newFixture(t), files), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { started <- workers.Start(ctx) }()
	<-files.reads
	cancel()
	require.Error(t, <-started)
}
