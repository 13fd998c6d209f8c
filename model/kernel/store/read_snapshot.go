package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"parapet/model/dbconn"
	"parapet/model/kernel/readcharge"
	"parapet/model/kernel/replica"
)

// ReadSnapshot runs read-only statements in one repeatable-read snapshot of the primary.
func (s *Store) ReadSnapshot(ctx context.Context, do func(context.Context, bun.Tx, time.Time) error) error {
	return TranslateError(readSnapshot(ctx, s.DB, do))
}

// ReadReplicaSnapshot is ReadSnapshot, also of a replica; do may run twice.
func (s *Store) ReadReplicaSnapshot(ctx context.Context, do func(context.Context, bun.Tx, time.Time) error) error {
	return TranslateError(s.ReadReplica(ctx, func(ctx context.Context, from replica.Source) error { return readSnapshot(ctx, from.DB, do) }))
}

func readSnapshot(ctx context.Context, db *bun.DB, do func(context.Context, bun.Tx, time.Time) error) error {
	snapshot := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	return db.RunInTx(ctx, snapshot, func(ctx context.Context, tx bun.Tx) error {
		var now time.Time
		if err := tx.QueryRowContext(ctx, "select "+BusinessNowSQL).Scan(&now); err != nil {
			return fmt.Errorf("read clock: %w", err)
		}
		return do(dbconn.MarkInTransaction(ctx), tx, now)
	})
}

// ReadReplica runs a read on a replica if the context allows it, otherwise or when the
// replica fails on the primary: do may run twice and returns errors unchanged. Use it for
// lists, the feed and figures, never for a decision.
func (s *Store) ReadReplica(ctx context.Context, do func(context.Context, replica.Source) error) error {
	return s.replicas.Read(ctx, replica.Source{Pool: s.Pool, DB: s.DB}, do)
}

// readReplicaRows is QueryPreparedRows by ReadReplica.
func (s *Store) readReplicaRows(ctx context.Context, into any, text string, args ...any) error {
	return s.ReadReplica(ctx, func(ctx context.Context, from replica.Source) error {
		return s.QueryPreparedRows(ctx, from.Pool, into, text, args...)
	})
}

// AfterScanRow charges an event that bun has read: its data, and their copy in the
// response.
func (e *EventRow) AfterScanRow(ctx context.Context) error {
	if charge := readcharge.From(ctx); charge != nil {
		return charge(2 * len(e.Data))
	}
	return nil
}
