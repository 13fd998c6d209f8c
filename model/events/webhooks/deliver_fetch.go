package webhooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/events"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// dueWork describes the work that may be due for an endpoint.
type dueWork struct {
	lastSequence int64 // the partner's last sequence
	hasRetries   bool  // a delivery's next attempt is due
}

// findDueWork renews the lease and looks for due work, in one round trip. The caller
// holds the lock on the progress row, so that every event that the relay numbers later
// makes the endpoint due again.
func findDueWork(ctx context.Context, tx *store.Tx, progress *progressRow) (d dueWork, err error) {
	tx.Batch.Queue("update webhook_progress set lease_expires_at = $1, due_at = null where endpoint_id = $2 and partner = $3",
		tx.Now.Add(runLeaseTime), progress.EndpointID, progress.Partner)
	tx.Batch.Queue("select coalesce("+events.LastSequenceSQL("sequence", "$1")+", 0), exists (select from deliveries where endpoint_id = $2 and status = 'pending' and next_attempt_at <= $3)",
		progress.Partner, progress.EndpointID, tx.Now).QueryRow(func(row pgx.Row) error { return row.Scan(&d.lastSequence, &d.hasRetries) })
	return d, tx.Flush(ctx)
}

// fetchRetries reads deliveries whose next attempt is due. At an ordered endpoint a
// delivery waits for every earlier one of its subject.
func fetchRetries(ctx context.Context, tx *store.Tx, row *EndpointRow, batch *DeliveryBatch) error {
	var due []dueEvent
	q := events.JoinSequence(tx.NewSelect().Model(&due)).ColumnExpr("d.id as delivery").
		Join("join deliveries d on d.event_id = e.id and d.partner = e.partner").
		Where("d.endpoint_id = ?", row.ID).Where("d.status = ?", DeliveryPending).Where("d.next_attempt_at <= ?", tx.Now)
	if row.Ordered {
		q = q.Where(`not exists (select from deliveries f where f.endpoint_id = d.endpoint_id and f.subject_id = d.subject_id
			and f.status = ? and f.sequence < d.sequence)`, DeliveryPending)
	}
	if err := q.OrderExpr("d.sequence").Limit(maxBatchRetries).Scan(ctx); err != nil || len(due) == 0 {
		return err
	}
	ids := make([]uuid.UUID, len(due))
	for i := range due {
		ids[i] = *due[i].Delivery
	}
	var rows []*deliveryRow
	if err := tx.NewSelect().Model(&rows).Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return err
	}
	known := make(map[uuid.UUID]*deliveryRow, len(rows))
	for _, delivery := range rows {
		known[delivery.ID] = delivery
	}
	for i := range due {
		if err := batch.addEvent(&due[i].SequencedEvent, known[*due[i].Delivery]); err != nil {
			return err
		}
	}
	return nil
}

// fetchNewEvents reads events that were never attempted, up to the batch limit. A slow
// endpoint's backlog stays a cursor and does not become delivery rows.
func fetchNewEvents(ctx context.Context, tx *store.Tx, row *EndpointRow, progress *progressRow, last int64, batch *DeliveryBatch) error {
	if len(batch.Items) == maxBatchRetries {
		return nil
	}
	allowed := progress.BatchLimit
	if progress.NextProbeAt != nil {
		allowed = 1
		if tx.Now.Before(*progress.NextProbeAt) {
			return nil
		}
	}
	end := min(last, progress.Cursor+sequenceWindow)
	if end == progress.Cursor {
		return nil
	}
	rows, err := loadNewEvents(ctx, tx.Store, tx.PgxConn, row.Partner, batch.eventTypes, progress.Cursor, end, allowed)
	if err != nil {
		return err
	}
	batch.Cursor = end
	if len(rows) == allowed {
		batch.Cursor, batch.isFull = rows[len(rows)-1].Sequence, allowed == maxBatchEvents
	}
	blocked, err := loadBlockedSubjects(ctx, tx, row, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := batch.addEvent(&rows[i], nil); err != nil {
			return err
		}
		batch.Items[len(batch.Items)-1].Blocked = blocked[rows[i].SubjectID]
	}
	return nil
}

// subscribedTypes returns the event types of the endpoint; nil for all.
func (r *EndpointRow) subscribedTypes() []string {
	if slices.Contains(r.EventTypes, AllEvents) {
		return nil
	}
	return r.EventTypes
}

// loadNewEvents reads a partner's first events of the types between two sequences.
func loadNewEvents(ctx context.Context, s *store.Store, on store.Querier, partner string, types []string, after, end int64, limit int) ([]events.SequencedEvent, error) {
	var rows []events.SequencedEvent
	text := s.Statements.Get(&rows, fmt.Sprint("new ", types == nil), func() string {
		q := events.JoinSequence(s.DB.NewSelect().Model(&rows)).Where("n.partner = $1").Where("n.sequence > $2").Where("n.sequence <= $3")
		if types == nil {
			q = q.Where("$5::text[] is null") // so that both texts take the same arguments
		} else {
			q = q.Where("e.type = any($5::text[])")
		}
		return q.OrderExpr("n.sequence").String() + " limit $4"
	})
	return rows, s.QueryPreparedRows(ctx, on, &rows, text, partner, after, end, limit, types)
}

// Prefetch reads the next batch while the current one is being saved. It returns nil
// unless the batch was full and another full batch follows, and when a retry is due,
// because retries go first. Send the result only if the whole current batch was
// delivered: a failing endpoint gets nothing more.
func (s *Service) Prefetch(ctx context.Context, job DeliverEndpoint, batch *DeliveryBatch) (*DeliveryBatch, error) {
	id, err := store.ResourceEndpoint.ParseID(job.Endpoint)
	if err != nil || !batch.isFull || batch.Ordered {
		return nil, err
	}
	again, err := s.QueryPreparedCount(ctx, "select count(*) from (select from deliveries where endpoint_id = $1 and partner = $2 and status = 'pending' and next_attempt_at <= ("+store.BusinessNowSQL+") limit 1) due",
		id, job.Partner)
	if err != nil || again > 0 {
		return nil, store.TranslateError(err)
	}
	rows, err := loadNewEvents(ctx, s.Store, s.Pool, job.Partner, batch.eventTypes, batch.Cursor, batch.Cursor+sequenceWindow, maxBatchEvents)
	if err != nil || len(rows) < maxBatchEvents {
		return nil, store.TranslateError(err)
	}
	ahead := &DeliveryBatch{URL: batch.URL, Secrets: batch.Secrets, Cursor: rows[len(rows)-1].Sequence, eventTypes: batch.eventTypes, isFull: true}
	for i := range rows {
		if err := ahead.addEvent(&rows[i], nil); err != nil {
			return nil, err
		}
	}
	return ahead, nil
}

// loadBlockedSubjects returns the subjects that have earlier undelivered events at an
// ordered endpoint.
func loadBlockedSubjects(ctx context.Context, tx *store.Tx, row *EndpointRow, rows []events.SequencedEvent) (map[uuid.UUID]bool, error) {
	if !row.Ordered || len(rows) == 0 {
		return nil, nil //nolint:nilnil // reading from a nil map is allowed
	}
	subjects := make([]uuid.UUID, len(rows))
	for i := range rows {
		subjects[i] = rows[i].SubjectID
	}
	var waiting []uuid.UUID
	err := tx.NewSelect().Model((*deliveryRow)(nil)).ColumnExpr("distinct d.subject_id").Where("d.endpoint_id = ?", row.ID).
		Where("d.status = ?", DeliveryPending).Where("d.subject_id in (?)", bun.List(subjects)).Scan(ctx, &waiting)
	blocked := make(map[uuid.UUID]bool, len(waiting))
	for _, subject := range waiting {
		blocked[subject] = true
	}
	return blocked, err
}

func (b *DeliveryBatch) addEvent(row *events.SequencedEvent, delivery *deliveryRow) error {
	event := row.ToRecord()
	body, err := wire.Encode(event)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if delivery == nil {
		delivery = &deliveryRow{EventID: row.ID, Sequence: row.Sequence, SubjectID: row.SubjectID}
	}
	b.Items = append(b.Items, Outgoing{Event: event, Body: body, delivery: delivery})
	return nil
}
