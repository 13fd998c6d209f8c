package model

import (
	"github.com/uptrace/bun"
)

// lockBatch locks a batch of at most size rows, skipping rows that others have locked.
func lockBatch(q *bun.SelectQuery, size int) *bun.SelectQuery {
	return q.Limit(int64(size)).For("NO KEY UPDATE SKIP LOCKED")
}

// Rows changed per transaction of a sweep: one by one, and in sets.
const (
	sweepBatchSize    = 200
	sweepSetBatchSize = 2000
)
