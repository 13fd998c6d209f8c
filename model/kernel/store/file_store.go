package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// FileStore stores attachments under opaque keys. An object is complete or absent: Put
// stores all bytes or none.
type FileStore interface {
	// Put stores the content of r under key.
	Put(ctx context.Context, key string, r io.Reader) error
	// Open opens an object at its beginning. The caller closes it.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes an object and the remains of an interrupted Put; a missing object is
	// no error.
	Delete(ctx context.Context, key string) error
}

// errOrphanFile is the error for an upload that completed after the sweep scheduled its
// file for deletion.
var errOrphanFile = errors.New("the file was given up")

// CompleteUpload removes the pending upload. A file afterwards has a record or is deleted
// by the sweep, never both.
func (tx *Tx) CompleteUpload(ctx context.Context, key string) error {
	done, err := tx.NewRaw("delete from pending_uploads where key = ?", key).Exec(ctx)
	if err != nil {
		return fmt.Errorf("note a file: %w", err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errOrphanFile, err)
	}
	return nil
}

// orphanFileAge is how long a file may have no record. A request takes at most half a
// minute.
const orphanFileAge = 24 * time.Hour

// DeleteOrphanFiles enqueues the deletion of files that got no record in time.
func DeleteOrphanFiles(ctx context.Context, tx *Tx) (int, error) {
	var keys []string
	err := tx.NewRaw(`delete from pending_uploads where key in (select key from pending_uploads where created_at < ? limit ? for update skip locked)
		returning key`, tx.Now.Add(-orphanFileAge), SweepBatchSize).Scan(ctx, &keys)
	if err != nil {
		return 0, fmt.Errorf("find files without a record: %w", err)
	}
	if len(keys) > 0 {
		tx.EnqueueJob(DeleteFiles{Keys: keys})
	}
	return len(keys), nil
}
