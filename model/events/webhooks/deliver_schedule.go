package webhooks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// scheduledEndpointRow is an endpoint whose run is to start.
type scheduledEndpointRow struct {
	EndpointID uuid.UUID `bun:"type:uuid"`
	Partner    string
	Failing    bool
	Started    bool
}

// ScheduleEndpoints makes subscribed endpoints due and starts a run where none is active.
// The update waits for a run that is ending and then sees no active run, so no wake-up is
// lost. Failing endpoints wait for their next probe.
func ScheduleEndpoints(tx *store.Tx, partners []string, types []event.Type) (start func()) {
	token := store.NewID()
	var woken []scheduledEndpointRow
	tx.QueueSelect(&woken, `update webhook_progress p set
			due_at = least(p.due_at, greatest($3, p.next_probe_at)),
			lease_id = case when greatest($3, p.next_probe_at) <= $3 then coalesce(p.lease_id, $4) else p.lease_id end,
			lease_expires_at = case when p.lease_id is null then $5 else p.lease_expires_at end
		from webhook_endpoints e where e.id = p.endpoint_id and e.partner = p.partner and p.partner = any($1) and p.active
			and (e.event_types && $2::text[] or '*' = any(e.event_types))
		returning p.endpoint_id, p.partner, p.failures > 0 as failing, p.lease_id is not distinct from $4 as started`, partners, types, tx.Now, token, tx.Now.Add(runStartTimeout))
	return func() {
		enqueueRuns(tx, slices.DeleteFunc(woken, func(row scheduledEndpointRow) bool { return !row.Started }), token)
	}
}

func enqueueRuns(tx *store.Tx, woken []scheduledEndpointRow, token uuid.UUID) {
	for _, row := range woken {
		tx.EnqueueJob(DeliverEndpoint{Partner: row.Partner, Endpoint: store.ResourceEndpoint.FormatID(row.EndpointID), LeaseID: token.String(), Failing: row.Failing})
	}
}

// startRun gives a locked endpoint to a new run; the caller writes lease_id and lease_expires_at.
func startRun(tx *store.Tx, progress *progressRow) {
	progress.LeaseID, progress.LeaseExpiresAt = new(store.NewID()), new(tx.Now.Add(runStartTimeout))
	enqueueRuns(tx, []scheduledEndpointRow{{EndpointID: progress.EndpointID, Partner: progress.Partner, Failing: progress.Failures > 0}}, *progress.LeaseID)
}

// StartDeliveries starts a run for every due endpoint that has none or whose run died. It
// returns how many runs it started.
func (s *Service) StartDeliveries(ctx context.Context) (started int, err error) {
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		token := store.NewID()
		var woken []scheduledEndpointRow
		err := tx.Store.QueryPreparedRows(ctx, tx.PgxConn, &woken, `update webhook_progress p set lease_id = $1, lease_expires_at = $3
			from (select endpoint_id, partner from webhook_progress
				where active and (lease_id is null and due_at <= $2 or lease_id is not null and lease_expires_at < $2) order by due_at limit $4 for no key update skip locked) due
			where p.endpoint_id = due.endpoint_id and p.partner = due.partner
			returning p.endpoint_id, p.partner, p.failures > 0 as failing`, token, tx.Now, tx.Now.Add(runStartTimeout), store.SweepBatchSize)
		if err != nil {
			return fmt.Errorf("start deliveries: %w", err)
		}
		started = len(woken)
		enqueueRuns(tx, woken, token)
		return nil
	})
	return started, err
}

// LeaseRenewInterval is how often a run renews its lease.
const LeaseRenewInterval = 3 * time.Second

// RenewLease renews the lease while a run waits for its receiver, so that a dead run is
// replaced within seconds even when receivers are slow. held is false when the endpoint
// was disabled or deleted, or another run has the lease.
func (s *Service) RenewLease(ctx context.Context, job DeliverEndpoint) (held bool, err error) {
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		progress, err := lockLeasedProgress(ctx, tx, job)
		if err != nil || progress == nil {
			return err
		}
		held = true
		tx.Batch.Queue("update webhook_progress set lease_expires_at = $1 where endpoint_id = $2 and partner = $3", tx.Now.Add(runLeaseTime), progress.EndpointID, progress.Partner)
		return nil
	})
	return held, err
}

// EndDelivery releases the lease of an endpoint that has nothing due and stores when it
// is due next. While more is due it keeps the lease and returns true; with handOver it
// starts a new run instead.
func (s *Service) EndDelivery(ctx context.Context, job DeliverEndpoint, handOver bool) (more bool, err error) {
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		row, progress, err := lockLeasedEndpoint(ctx, tx, job)
		if err != nil || row == nil {
			return err
		}
		next, err := findNextDue(ctx, tx, row, progress)
		if err != nil {
			return fmt.Errorf("find what is due next: %w", err)
		}
		more = next != nil && !next.After(tx.Now)
		switch {
		case more && !handOver:
			return nil
		case more:
			startRun(tx, progress)
		default:
			progress.LeaseID, progress.LeaseExpiresAt, progress.DueAt = nil, nil, next
		}
		_, err = tx.NewUpdate().Model(progress).Column("lease_id", "lease_expires_at", "due_at").WherePK().Exec(ctx)
		return err
	})
	return more, err
}

// findNextDue returns when the endpoint is due next: for a delivery's next attempt, or
// for an event without an attempt. At an ordered endpoint a delivery that waits for an
// earlier one of its subject does not count.
func findNextDue(ctx context.Context, tx *store.Tx, row *EndpointRow, progress *progressRow) (next *time.Time, err error) {
	err = tx.NewRaw(`select least(
		(select min(d.next_attempt_at) from deliveries d where d.endpoint_id = ?0 and d.status = 'pending' and (not ?5 or not exists (
			select from deliveries f where f.endpoint_id = d.endpoint_id and f.subject_id = d.subject_id and f.status = 'pending' and f.sequence < d.sequence))),
		(select greatest(?2, ?3::timestamptz) where `+events.LastSequenceSQL("sequence", "?1")+` > ?4))`,
		row.ID, row.Partner, tx.Now, progress.NextProbeAt, progress.Cursor, row.Ordered).Scan(ctx, &next)
	return next, err
}
