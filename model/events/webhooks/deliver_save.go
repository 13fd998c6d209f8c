package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// DeliverySchedule returns the delays before each retry (Standard Webhooks 1.0). After
// the last one the delivery is failed. Each delay varies by up to a fifth, so that many
// deliveries do not retry at the same time.
func DeliverySchedule() []time.Duration {
	return []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

// DeliveryDuration is how long a delivery that always fails is retried, without jitter
// and without pauses that the receiver requests.
func DeliveryDuration() (total time.Duration) {
	for _, wait := range DeliverySchedule() {
		total += wait
	}
	return total
}

const (
	maxRetryAfter = 24 * time.Hour     // longest pause that a receiver may request
	disableAfter  = 5 * 24 * time.Hour // without a successful delivery
)

// AttemptResult is the result for one event of a batch. Attempt is nil for an event that
// was not sent, because an earlier one of its subject failed or the endpoint does not
// answer.
type AttemptResult struct {
	Outgoing   Outgoing
	Attempt    *wire.Attempt
	Delivered  bool
	Gone       bool          // status 410: disable the endpoint
	RetryAfter time.Duration // requested by the receiver
}

// SaveBatch saves the results of a batch and the endpoint's cursor in one transaction. It
// saves nothing when the run lost its lease, because another run may have sent the batch.
func (s *Service) SaveBatch(ctx context.Context, job DeliverEndpoint, batch *DeliveryBatch, sent []AttemptResult) (kept bool, err error) {
	var disable string
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		progress, err := lockLeasedProgress(ctx, tx, job)
		kept = progress != nil
		if err != nil || !kept {
			return err
		}
		pause := requestedPause(sent)
		disable = progress.adaptBatchSize(tx.Now, sent, pause, s.config)
		rows := make([]*deliveryRow, len(sent))
		for i := range sent {
			rows[i] = recordAttempt(tx, progress, &sent[i], batch.Ordered, s.config)
		}
		if err := saveDeliveries(tx, progress, rows); err != nil {
			return fmt.Errorf("keep deliveries: %w", err)
		}
		tx.Batch.Queue(`update webhook_progress set cursor = $1, lease_expires_at = $2, failures = $3, failing_since = $4, next_probe_at = $5, batch_limit = $6
			where endpoint_id = $7 and partner = $8`, batch.Cursor, tx.Now.Add(runLeaseTime), progress.Failures, progress.FailingSince,
			progress.NextProbeAt, progress.BatchLimit, progress.EndpointID, progress.Partner)
		postponeRetries(tx, progress, pause)
		return nil
	})
	if err != nil || disable == "" {
		return kept, err
	}
	return kept, s.disableFailingEndpoint(ctx, job, batch.URL, disable)
}

// recordAttempt returns the delivery with its attempt and its next due time. It copies
// the batch's delivery, because a deadlock repeats the transaction. An event that was not
// sent because the endpoint fails waits for the next probe; at an ordered endpoint it is
// due when the earlier events of its subject are delivered.
func recordAttempt(tx *store.Tx, progress *progressRow, sent *AttemptResult, ordered bool, settings Config) *deliveryRow {
	d := new(*sent.Outgoing.delivery)
	if d.ID == uuid.Nil {
		d.RowHeader, d.EndpointID, d.Status = tx.NewHeader(progress.Partner), progress.EndpointID, DeliveryPending
		d.Attempts = []wire.Attempt{}
	} else {
		tx.BumpVersion(&d.RowHeader)
	}
	d.NextAttemptAt = &tx.Now
	if sent.Attempt == nil {
		if progress.NextProbeAt != nil && !ordered {
			d.NextAttemptAt = new(store.EarlierTime(*progress.NextProbeAt, tx.Now.Add(maxProbeDelay)))
		}
		return d
	}
	d.Attempts = append(slices.Clip(d.Attempts), *sent.Attempt)
	d.Attempts = d.Attempts[max(0, len(d.Attempts)-store.MaxEmbedded):] // a partner may retry by hand without limit
	d.AttemptsInRound++
	switch schedule := DeliverySchedule(); {
	case sent.Delivered:
		d.Status, d.NextAttemptAt = DeliveryDelivered, nil
	case d.AttemptsInRound > len(schedule):
		d.Status, d.NextAttemptAt = DeliveryFailed, nil
	default:
		wait := settings.scaleDelay(withJitter(schedule[d.AttemptsInRound-1]))
		d.NextAttemptAt = new(tx.Now.Add(wait)) // postponeRetries may postpone it
	}
	return d
}

// withJitter varies a delay by up to a fifth.
func withJitter(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())) //nolint:gosec // spreads load, not a secret
}

// requestedPause returns the longest pause that the receiver requested.
func requestedPause(sent []AttemptResult) (pause time.Duration) {
	for i := range sent {
		if !sent[i].Delivered {
			pause = max(pause, min(sent[i].RetryAfter, maxRetryAfter))
		}
	}
	return pause
}

// postponeRetries postpones all retries of an endpoint until the requested pause ends:
// the request applies to the receiver, not only to one event.
func postponeRetries(tx *store.Tx, progress *progressRow, pause time.Duration) {
	if pause > 0 {
		tx.Batch.Queue("update deliveries set next_attempt_at = $1 where endpoint_id = $2 and partner = $3 and status = $4 and next_attempt_at < $1",
			tx.Now.Add(pause), progress.EndpointID, progress.Partner, string(DeliveryPending))
	}
}

// adaptBatchSize adapts the batch limit to the endpoint's results and returns the reason
// to disable the endpoint, empty for none.
func (p *progressRow) adaptBatchSize(now time.Time, sent []AttemptResult, pause time.Duration, pace Config) (disable string) {
	delivered, failed, left := 0, 0, 0
	for i := range sent {
		switch {
		case sent[i].Gone:
			disable = "It answered 410 Gone."
			failed++
		case sent[i].Delivered:
			delivered++
		case sent[i].Attempt != nil:
			failed++
		case !sent[i].Outgoing.Blocked:
			left++
		}
	}
	switch {
	case delivered > 0:
		p.Failures, p.FailingSince, p.NextProbeAt = 0, nil, nil
		switch {
		case left > 0, pause > 0: // it is slow or requested a pause
			p.BatchLimit = max(1, p.BatchLimit/2)
		case failed == 0:
			p.BatchLimit = min(2*p.BatchLimit, maxBatchEvents)
		}
	case failed > 0:
		p.Failures += int64(failed)
		if p.FailingSince == nil {
			p.FailingSince = &now
		}
		failing := now.Sub(*p.FailingSince)
		if p.Failures >= FailingAfter {
			p.BatchLimit = 1
			p.NextProbeAt = new(now.Add(pace.scaleDelay(min(max(failing/4, minProbeDelay), maxProbeDelay))))
		}
		if failing >= disableAfter {
			disable = fmt.Sprintf("Nothing could be delivered since %s.", p.FailingSince.UTC().Format(time.RFC3339))
		}
	}
	if pause > 0 { // the pause applies to new events too
		p.NextProbeAt = new(store.LaterTime(now.Add(pause), *cmp.Or(p.NextProbeAt, &now)))
	}
	return disable
}

// disableFailingEndpoint disables the endpoint and informs the partner of the reason. It
// does nothing when the endpoint's URL has changed, because the failures concern the old
// one.
func (s *Service) disableFailingEndpoint(ctx context.Context, job DeliverEndpoint, address, reason string) error {
	_, err := s.changeEndpoint(ctx, actor.System(), job.Endpoint, func(ctx context.Context, tx *store.Tx, row *EndpointRow) (*wire.WebhookEndpoint, error) {
		if row.Status == EndpointEnabled && row.URL == address {
			if err := setEndpointStatus(ctx, tx, row, EndpointDisabled, &reason); err != nil {
				return nil, err
			}
		}
		return row.ToRecord(), nil
	})
	return err
}

// saveDeliveries inserts new deliveries and updates retried ones, in two statements for
// any number of rows.
func saveDeliveries(tx *store.Tx, progress *progressRow, rows []*deliveryRow) error {
	var born, again deliveryColumns
	for _, d := range rows {
		columns := &again
		if d.Version == 1 {
			columns = &born
		}
		if err := columns.add(d); err != nil {
			return err
		}
	}
	if len(born.ids) > 0 {
		tx.Batch.Queue(`insert into deliveries (id, partner, version, created_at, updated_at, endpoint_id, event_id, sequence, subject_id, status, attempts_in_round, attempts, next_attempt_at)
			select d.id, $9, 1, $8, $8, $10, d.event_id, d.sequence, d.subject_id, d.status, d.attempts_in_round, d.attempts, d.next_attempt_at
			from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::int[], $7::json[], $11::timestamptz[])
				as d (id, event_id, sequence, subject_id, status, attempts_in_round, attempts, next_attempt_at)`,
			born.ids, born.events, born.sequences, born.subjects, born.statuses, born.tries, born.attempts, tx.Now, progress.Partner, progress.EndpointID, born.next)
	}
	if len(again.ids) == 0 {
		return nil
	}
	tx.Batch.Queue(`update deliveries set version = deliveries.version + 1, updated_at = $6, status = d.status, attempts_in_round = d.attempts_in_round, attempts = d.attempts, next_attempt_at = d.next_attempt_at
		from unnest($1::uuid[], $2::text[], $3::int[], $4::json[], $5::timestamptz[]) as d (id, status, attempts_in_round, attempts, next_attempt_at)
		where deliveries.id = d.id and deliveries.partner = $7`,
		again.ids, again.statuses, again.tries, again.attempts, again.next, tx.Now, progress.Partner)
	return nil
}

// deliveryColumns are deliveries as columns, one array each.
type deliveryColumns struct {
	ids, events, subjects []uuid.UUID
	sequences             []int64
	statuses              []string
	tries                 []int
	attempts              []string
	next                  []*time.Time
}

func (c *deliveryColumns) add(d *deliveryRow) error {
	attempts, err := wire.Encode(d.Attempts)
	if err != nil {
		return fmt.Errorf("encode attempts: %w", err)
	}
	c.ids, c.events, c.subjects = append(c.ids, d.ID), append(c.events, d.EventID), append(c.subjects, d.SubjectID)
	c.sequences, c.statuses = append(c.sequences, d.Sequence), append(c.statuses, string(d.Status))
	c.tries, c.attempts, c.next = append(c.tries, d.AttemptsInRound), append(c.attempts, string(attempts)), append(c.next, d.NextAttemptAt)
	return nil
}
