package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// How long a payout may be overdue before the sweep asks for it again. One that a
// worker had is asked for right after its lease, a little later than the queue itself
// brings back what waits; one that is pending may stand in a long queue.
const (
	requeueInFlightAfter = 7 * time.Second
	requeuePendingAfter  = 30 * time.Second
	requeueAgainAfter    = time.Minute
)

// requeuePayoutsInFlight asks again for payouts whose worker died or whose rail is to be
// asked again: once after each lease, and once a minute.
func (tx *Tx) requeuePayoutsInFlight(ctx context.Context) (int, error) {
	return tx.requeueOverduePayouts(ctx, "status in ('releasing', 'reconciling')", requeueInFlightAfter, true)
}

// requeuePendingPayouts asks again for payouts that were not sent in time: their job
// was lost. Each is asked for once a minute, and the queue ignores a request while an
// earlier one waits: jobs do not pile up while nobody works them.
func (tx *Tx) requeuePendingPayouts(ctx context.Context) (int, error) {
	return tx.requeueOverduePayouts(ctx, "status = 'pending'", requeuePendingAfter, false)
}

func (tx *Tx) requeueOverduePayouts(ctx context.Context, status string, after time.Duration, ahead bool) (int, error) {
	var rows []struct {
		ID      uuid.UUID
		Partner string
	}
	err := tx.NewRaw(`update payouts set revived_at = ?0 where (id, partner) in (
			select id, partner from payouts where `+status+` and next_attempt_at < ?1
				and (revived_at is null or revived_at < next_attempt_at or revived_at < ?2)
			order by next_attempt_at limit ?3 for no key update skip locked)
		returning id, partner`, tx.now, tx.now.Add(-after), tx.now.Add(-requeueAgainAfter), sweepBatchSize).Scan(ctx, &rows)
	if err != nil {
		return 0, fmt.Errorf("find overdue payouts: %w", err)
	}
	for _, row := range rows {
		tx.enqueueJob(ReleasePayout{Partner: row.Partner, ID: resourcePayout.formatID(row.ID), HighPriority: ahead, Requeued: true})
	}
	return len(rows), nil
}
