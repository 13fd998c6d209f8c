package store

import (
	"github.com/uptrace/bun"
)

// LockBatch locks a batch of at most size rows, skipping rows that others have locked.
func LockBatch(q *bun.SelectQuery, size int) *bun.SelectQuery {
	return q.Limit(int64(size)).For("NO KEY UPDATE SKIP LOCKED")
}

// Rows changed per transaction of a sweep: one by one, and in sets.
const (
	SweepBatchSize    = 200
	SweepSetBatchSize = 2000
)
