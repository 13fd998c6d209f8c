package payouts

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

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

// RequeuePayoutsInFlight requeues payouts whose worker died or whose next inquiry to
// the rail is due: once after each lease, then once a minute.
func RequeuePayoutsInFlight(ctx context.Context, tx *store.Tx) (int, error) {
	return requeueOverduePayouts(ctx, tx, "status in ('releasing', 'reconciling')", requeueInFlightAfter, true)
}

// RequeuePendingPayouts requeues overdue pending payouts, whose job was lost. It
// requeues each payout at most once a minute, and the queue ignores a duplicate of a
// waiting job, so jobs do not accumulate while no worker runs. If the rail accepts
// batches, a batch comes first, and a payout that it leaves is released alone.
func RequeuePendingPayouts(ctx context.Context, tx *store.Tx) (int, error) {
	return requeueOverduePayouts(ctx, tx, "status = 'pending'", requeuePendingAfter, false)
}

func requeueOverduePayouts(ctx context.Context, tx *store.Tx, status string, after time.Duration, ahead bool) (int, error) {
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
		tx.Now, tx.Now.Add(-after), tx.Now.Add(-RequeueAgainAfter), store.SweepBatchSize).Scan(ctx, &rows)
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
