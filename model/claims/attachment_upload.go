package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parapet/model/kernel/store"
)

// errOrphanFile is the error for an upload that completed after the sweep scheduled its
// file for deletion.
var errOrphanFile = errors.New("the file was given up")

// CompleteUpload removes the pending upload. A file afterwards has a record or is deleted
// by the sweep, never both.
func CompleteUpload(ctx context.Context, tx *store.Tx, key string) error {
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
func DeleteOrphanFiles(ctx context.Context, tx *store.Tx) (int, error) {
	var keys []string
	err := tx.NewRaw(`delete from pending_uploads where key in (select key from pending_uploads where created_at < ? limit ? for update skip locked)
		returning key`, tx.Now.Add(-orphanFileAge), store.SweepBatchSize).Scan(ctx, &keys)
	if err != nil {
		return 0, fmt.Errorf("find files without a record: %w", err)
	}
	if len(keys) > 0 {
		tx.EnqueueJob(store.DeleteFiles{Keys: keys})
	}
	return len(keys), nil
}
