package model

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// dueWork is what may be sent to an endpoint.
type dueWork struct {
	last  int64 // the partner's last sequence
	again bool  // a delivery's next attempt is due
}

// dueWork renews the hold and sees what there is, in one round trip. It is asked behind
// the lock on the progress row: whatever the relay numbers afterwards makes the
// endpoint due anew.
func (u *unit) dueWork(ctx context.Context, progress *progressRow) (d dueWork, err error) {
	u.later.Queue("update webhook_progress set drain_at = $1, due_at = null where endpoint_id = $2 and partner = $3",
		u.now.Add(drainSilent), progress.EndpointID, progress.Partner)
	u.later.Queue("select coalesce("+lastNumber("sequence", "$1")+", 0), exists (select from deliveries where endpoint_id = $2 and status = 'pending' and next_attempt_at <= $3)",
		progress.Partner, progress.EndpointID, u.now).QueryRow(func(row pgx.Row) error { return row.Scan(&d.last, &d.again) })
	return d, u.send(ctx)
}

// takeRetries reads deliveries whose next attempt is due. At an ordered endpoint a
// delivery waits for every earlier one of its subject.
func (u *unit) takeRetries(ctx context.Context, row *endpointRow, batch *Batch) error {
	var due []dueEvent
	q := numbered(u.NewSelect().Model(&due)).ColumnExpr("d.id as delivery").
		Join("join deliveries d on d.event_id = e.id and d.partner = e.partner").
		Where("d.endpoint_id = ?", row.ID).Where("d.status = ?", DeliveryPending).Where("d.next_attempt_at <= ?", u.now)
	if row.Ordered {
		q = q.Where(`not exists (select from deliveries f where f.endpoint_id = d.endpoint_id and f.subject_id = d.subject_id
			and f.status = ? and f.sequence < d.sequence)`, DeliveryPending)
	}
	if err := q.OrderExpr("d.sequence").Limit(drainRetries).Scan(ctx); err != nil || len(due) == 0 {
		return err
	}
	ids := make([]uuid.UUID, len(due))
	for i := range due {
		ids[i] = *due[i].Delivery
	}
	var rows []*deliveryRow
	if err := u.NewSelect().Model(&rows).Where("id in (?)", bun.List(ids)).Scan(ctx); err != nil {
		return err
	}
	known := make(map[uuid.UUID]*deliveryRow, len(rows))
	for _, delivery := range rows {
		known[delivery.ID] = delivery
	}
	for i := range due {
		if err := batch.add(&due[i].numberedEvent, known[*due[i].Delivery]); err != nil {
			return err
		}
	}
	return nil
}

// takeNew reads events that were never tried: as many as the endpoint bears, and
// none while it has enough to catch up with, so that a slow endpoint's backlog stays
// a position and does not become rows.
func (u *unit) takeNew(ctx context.Context, row *endpointRow, progress *progressRow, last int64, batch *Batch) error {
	if len(batch.Items) == drainRetries {
		return nil
	}
	allowed := progress.Allowance
	if progress.ProbeAt != nil {
		allowed = 1
		if u.now.Before(*progress.ProbeAt) {
			return nil
		}
	}
	end := min(last, progress.Position+drainWindow)
	if end == progress.Position {
		return nil
	}
	rows, err := u.svc.news(ctx, u.pg, row.Partner, batch.types, progress.Position, end, allowed)
	if err != nil {
		return err
	}
	batch.Position = end
	if len(rows) == allowed {
		batch.Position, batch.full = rows[len(rows)-1].Sequence, allowed == drainBatch
	}
	blocked, err := u.blocked(ctx, row, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := batch.add(&rows[i], nil); err != nil {
			return err
		}
		batch.Items[len(batch.Items)-1].Held = blocked[rows[i].SubjectID]
	}
	return nil
}

// wanted are the types an endpoint asked for; nil for all.
func (r *endpointRow) wanted() []string {
	if slices.Contains(r.EventTypes, AllEvents) {
		return nil
	}
	return r.EventTypes
}

// news are the first of a partner's events of the types between two sequences.
func (s *Service) news(ctx context.Context, on querier, partner string, types []string, after, end int64, limit int) ([]numberedEvent, error) {
	var rows []numberedEvent
	text := s.texts.of(&rows, fmt.Sprint("new ", types == nil), func() string {
		q := numbered(s.db.NewSelect().Model(&rows)).Where("n.partner = $1").Where("n.sequence > $2").Where("n.sequence <= $3")
		if types == nil {
			q = q.Where("$5::text[] is null") // every statement takes the same
		} else {
			q = q.Where("e.type = any($5::text[])")
		}
		return q.OrderExpr("n.sequence").String() + " limit $4"
	})
	return rows, s.preparedRows(ctx, on, &rows, text, partner, after, end, limit, types)
}

// ReadAhead reads what follows a batch, to be sent while that batch is being kept; nil
// unless the endpoint bears a full batch and there is another, and when something is due
// again, which goes first. It may be sent only when all of the batch arrived: an endpoint
// that begins to fail is sent no more.
func (s *Service) ReadAhead(ctx context.Context, job DrainEndpoint, batch *Batch) (*Batch, error) {
	id, err := nounEndpoint.parse(job.Endpoint)
	if err != nil || !batch.full || batch.Ordered {
		return nil, err
	}
	again, err := s.preparedCount(ctx, "select count(*) from (select from deliveries where endpoint_id = $1 and partner = $2 and status = 'pending' and next_attempt_at <= ("+businessNow+") limit 1) due",
		id, job.Partner)
	if err != nil || again > 0 {
		return nil, explain(err)
	}
	rows, err := s.news(ctx, s.pool, job.Partner, batch.types, batch.Position, batch.Position+drainWindow, drainBatch)
	if err != nil || len(rows) < drainBatch {
		return nil, explain(err)
	}
	ahead := &Batch{URL: batch.URL, Secrets: batch.Secrets, Position: rows[len(rows)-1].Sequence, types: batch.types, full: true}
	for i := range rows {
		if err := ahead.add(&rows[i], nil); err != nil {
			return nil, err
		}
	}
	return ahead, nil
}

// blocked are the subjects whose earlier events an ordered endpoint still waits
// for.
func (u *unit) blocked(ctx context.Context, row *endpointRow, rows []numberedEvent) (map[uuid.UUID]bool, error) {
	if !row.Ordered || len(rows) == 0 {
		return nil, nil //nolint:nilnil // reading from no map is fine
	}
	subjects := make([]uuid.UUID, len(rows))
	for i := range rows {
		subjects[i] = rows[i].SubjectID
	}
	var waiting []uuid.UUID
	err := u.NewSelect().Model((*deliveryRow)(nil)).ColumnExpr("distinct d.subject_id").Where("d.endpoint_id = ?", row.ID).
		Where("d.status = ?", DeliveryPending).Where("d.subject_id in (?)", bun.List(subjects)).Scan(ctx, &waiting)
	blocked := make(map[uuid.UUID]bool, len(waiting))
	for _, subject := range waiting {
		blocked[subject] = true
	}
	return blocked, err
}

func (b *Batch) add(row *numberedEvent, delivery *deliveryRow) error {
	event := row.public()
	body, err := wire.Encode(event)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if delivery == nil {
		delivery = &deliveryRow{EventID: row.ID, Sequence: row.Sequence, SubjectID: row.SubjectID}
	}
	b.Items = append(b.Items, Dispatch{Event: event, Body: body, delivery: delivery})
	return nil
}
