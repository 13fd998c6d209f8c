package payouts

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/dbconn"
	"parapet/model/kernel/store"
)

// How long a payout may be overdue before the sweep requeues it. A payout in flight is
// requeued right after its lease, slightly later than the queue's own retry; a pending
// payout may legitimately wait in a long queue.
const (
	requeueInFlightAfter = 7 * time.Second
	requeuePendingAfter  = 30 * time.Second
	RequeueAgainAfter    = time.Minute
)

// requeuedWithBatches is how many pending payouts a turn of the sweep requeues if the
// rail accepts batches: one batch releases all that are due, and after a large event
// thousands wait for theirs.
const requeuedWithBatches = 32

// RequeuePayoutsInFlight requeues payouts whose worker died or whose next inquiry to
// the rail is due: once after each lease, then once a minute.
func RequeuePayoutsInFlight(ctx context.Context, tx *store.Tx) (int, error) {
	return requeueOverduePayouts(ctx, tx, "status in ('releasing', 'reconciling')", requeueInFlightAfter, true, store.SweepBatchSize)
}

// RequeuePendingPayouts requeues overdue pending payouts, whose job was lost. It
// requeues each payout at most once a minute, and the queue ignores a duplicate of a
// waiting job, so jobs do not accumulate while no worker runs. If the rail accepts
// batches, a batch comes first, and the payouts that it leaves are released alone, a few in
// each turn.
func RequeuePendingPayouts(ctx context.Context, tx *store.Tx) (int, error) {
	limit := store.SweepBatchSize
	if store.Local[ReleaseSettings](tx.Store).Batch {
		limit = requeuedWithBatches
	}
	return requeueOverduePayouts(ctx, tx, "status = 'pending'", requeuePendingAfter, false, limit)
}

func requeueOverduePayouts(ctx context.Context, tx *store.Tx, status string, after time.Duration, ahead bool, limit int) (int, error) {
	if err := dbconn.OrderByIndex(ctx, tx); err != nil {
		return 0, err
	}
	var rows []struct {
		ID       uuid.UUID
		Partner  string
		Repeated bool // requeued before, since it is due
	}
	err := tx.NewRaw(`update payouts po set requeued_at = ?0 from (
			select id, partner, requeued_at >= next_attempt_at as repeated from payouts where `+status+` and next_attempt_at < ?1
				and (requeued_at is null or requeued_at < next_attempt_at or requeued_at < ?2)
			order by next_attempt_at limit ?3 for no key update skip locked) as overdue
		where po.id = overdue.id and po.partner = overdue.partner returning po.id, po.partner, coalesce(overdue.repeated, false) as repeated`,
		tx.Now, tx.Now.Add(-after), tx.Now.Add(-RequeueAgainAfter), limit).Scan(ctx, &rows)
	if err != nil {
		return 0, fmt.Errorf("find overdue payouts: %w", err)
	}
	batch := !ahead && store.Local[ReleaseSettings](tx.Store).Batch
	for _, row := range rows {
		if batch && !row.Repeated {
			enqueueBatch(tx, ReleaseBatch{Requeued: true})
			continue
		}
		tx.EnqueueJob(ReleasePayout{Partner: row.Partner, ID: store.ResourcePayout.FormatID(row.ID), HighPriority: ahead, Requeued: true})
	}
	return len(rows), nil
}
