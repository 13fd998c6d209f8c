package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// FileStore keeps attachments under opaque keys. An object is complete or absent:
// Put either stores all bytes or none.
type FileStore interface {
	// Put stores what r yields under key.
	Put(ctx context.Context, key string, r io.Reader) error
	// Open reads an object from its beginning. The caller closes it.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes an object, and what a Put that was cut off left of it; a missing
	// one is no error.
	Delete(ctx context.Context, key string) error
}

// errOrphanFile is a file that came so late that the sweep gave it up.
var errOrphanFile = errors.New("the file was given up")

// completeUpload removes the pending upload: afterwards the file has a record, or the
// sweep deletes it, never both.
func (tx *Tx) completeUpload(ctx context.Context, key string) error {
	done, err := tx.NewRaw("delete from files_underway where key = ?", key).Exec(ctx)
	if err != nil {
		return fmt.Errorf("note a file: %w", err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errOrphanFile, err)
	}
	return nil
}

// orphanFileAge is how long a file may lack its record. A request takes half a minute
// at most.
const orphanFileAge = 24 * time.Hour

// deleteOrphanFiles has files deleted whose records did not come.
func (tx *Tx) deleteOrphanFiles(ctx context.Context) (int, error) {
	var keys []string
	err := tx.NewRaw(`delete from files_underway where key in (select key from files_underway where created_at < ? limit ? for update skip locked)
		returning key`, tx.now.Add(-orphanFileAge), sweepBatchSize).Scan(ctx, &keys)
	if err != nil {
		return 0, fmt.Errorf("find files without a record: %w", err)
	}
	if len(keys) > 0 {
		tx.enqueueJob(DeleteFiles{Keys: keys})
	}
	return len(keys), nil
}
