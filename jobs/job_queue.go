package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/rivertype"
	"github.com/uptrace/bun"

	"parapet/model/operations"
)

// Queues implements model.JobAdmin.
func (a *JobAdmin) Queues(ctx context.Context) ([]operations.JobQueue, error) {
	rows, err := a.pool.Query(ctx, "select name, paused_at from "+pgx.Identifier{Schema, "river_queue"}.Sanitize()+" order by name limit 100")
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[operations.JobQueue])
}

// SetPaused implements model.JobAdmin. River's own functions notify its workers.
func (a *JobAdmin) SetPaused(ctx context.Context, conn bun.Conn, queue string, paused bool) (found bool, err error) {
	err = conn.Raw(func(driver any) error {
		tx := domainTx{driver.(*stdlib.Conn).Conn()} //nolint:forcetypeassert // bun runs on pgx; see cmd
		if paused {
			return a.client.QueuePauseTx(ctx, tx, queue, nil)
		}
		return a.client.QueueResumeTx(ctx, tx, queue, nil)
	})
	if errors.Is(err, rivertype.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
