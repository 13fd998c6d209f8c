package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/kernel/rowscan"
)

// LockRow reads and locks a row FOR NO KEY UPDATE, if the actor may see it. The caller
// keeps the lock order policy, claim, payout.
func (tx *Tx) LockRow(ctx context.Context, row interface{ head() *RowHeader }, id uuid.UUID, kind ResourceType) error {
	if err := tx.LeaveGroup(); err != nil {
		return err
	}
	text := tx.lockStatement(row, "NO KEY UPDATE")
	if err := tx.Store.QueryPreparedRow(ctx, tx.PgxConn, row, text, id, TenantArg(tx.Actor)); err != nil {
		if IsNoRows(err) {
			return kind.NotFoundError()
		}
		return fmt.Errorf("lock %s: %w", kind.Name, err)
	}
	tx.AdvanceClock(row.head())
	return nil
}

// QueueLock queues LockRow for a row that no other transaction holds. The next flush sets
// locked; if it is false, call LockRow, which waits for the holder or returns not_found.
func (tx *Tx) QueueLock(row interface{ head() *RowHeader }, id uuid.UUID, locked *bool) {
	text := tx.lockStatement(row, "NO KEY UPDATE SKIP LOCKED")
	tx.Batch.Queue(text, id, TenantArg(tx.Actor)).Query(func(rows pgx.Rows) error {
		err := rowscan.One(tx.Store.DB, rows, text, row)
		if *locked = err == nil; *locked {
			tx.AdvanceClock(row.head())
		} else if IsNoRows(err) {
			return nil
		}
		return err
	})
}

// lockStatement selects a row by its id ($1), if the actor may see it ($2 is its tenant).
func (tx *Tx) lockStatement(row any, strength string) string {
	return tx.Store.Statements.Get(row, strength+TenantPredicate(tx.Actor), func() string {
		q := tx.NewSelect().Model(row)
		if derived, ok := row.(derivedColumns); ok {
			q = derived.SelectColumns(q)
		}
		return q.Where("?TableAlias.id = $1").Where(TenantPredicate(tx.Actor)).For(strength).String()
	})
}

// derivedColumns is a row that is locked with more than the columns of its table.
type derivedColumns interface {
	SelectColumns(q *bun.SelectQuery) *bun.SelectQuery
}

// LockBatch locks a batch of at most size rows, skipping rows that others have locked.
func LockBatch(q *bun.SelectQuery, size int) *bun.SelectQuery {
	return q.Limit(int64(size)).For("NO KEY UPDATE SKIP LOCKED")
}
