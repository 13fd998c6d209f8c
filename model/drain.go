package model

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/wire"
)

// An endpoint is worked by at most one drain: a job that holds the endpoint's
// token. It takes what is due, sends it outside of any transaction, and keeps what
// became of it together with how far the endpoint has come. A drain that dies has
// kept nothing of its last batch, which is sent again: at least once. Waking up is
// never lost, because the relay and the drain's end both lock the progress row.
const (
	drainBatch   = 256              // new events a batch of a well endpoint
	drainRetries = 64               // deliveries tried again a batch
	drainWindow  = 4096             // sequences looked at for events an endpoint wants
	drainQueued  = 60 * time.Second // a drain that did not begin within is dead,
	drainSilent  = 10 * time.Second // and so is one that showed no life for so long
	illAfter     = 10               // failures in a row after which new events wait
	probeFirst   = 5 * time.Second  // how soon a failing endpoint is tried with a new event,
	probeLast    = 5 * time.Minute  // and how late when it has been failing for long
)

// DrainEndpoint sends an endpoint what is due to it.
type DrainEndpoint struct {
	Partner  string `json:"partner"`
	Endpoint string `json:"endpoint"`
	Token    string `json:"token"`
	Ill      bool   `json:"ill,omitempty"` // it failed lately, so it must not keep others waiting
}

// Kind is the job's stable name.
func (DrainEndpoint) Kind() string { return "drain_endpoint" }

// Batch is what is due to an endpoint now.
type Batch struct {
	URL     string
	Secrets [][]byte // sign, the new one first
	Ordered bool     // events of one subject go one after the other
	Items   []Dispatch
	// Position is the sequence the endpoint has come to when the batch is kept.
	Position int64
}

// Dispatch is one event to be sent.
type Dispatch struct {
	Event    wire.Event
	Body     []byte // exactly what GET /events/{id} answers
	Held     bool   // not to be sent yet: an earlier event of its subject is on its way
	delivery *deliveryRow
}

// deliveryRow is an event on its way to an endpoint, born with its first attempt.
type deliveryRow struct {
	bun.BaseModel `bun:"table:deliveries,alias:d"`
	header

	EndpointID    uuid.UUID `bun:"type:uuid"`
	EventID       uuid.UUID `bun:"type:uuid"`
	Sequence      int64
	SubjectID     uuid.UUID `bun:"type:uuid"`
	Status        DeliveryStatus
	Tries         int            // of the present round; a retry by hand begins another
	Attempts      []wire.Attempt `bun:"type:json"`
	NextAttemptAt *time.Time
}

// dueEvent is an event with its delivery, if it was tried before.
type dueEvent struct {
	numberedEvent `bun:",extend"`

	Delivery *uuid.UUID `bun:"type:uuid"`
}

// TakeBatch renews the drain's hold and reads what is due; nil when there is
// nothing or the token is not the drain's any more.
func (s *Service) TakeBatch(ctx context.Context, job DrainEndpoint) (*Batch, error) {
	var batch *Batch
	err := s.change(ctx, System(), func(ctx context.Context, u *unit) error {
		row, progress, err := u.drained(ctx, job)
		if err != nil || row == nil {
			return err
		}
		if _, err := u.NewUpdate().Model(progress).Set("drain_at = ?", u.now.Add(drainSilent)).Set("due_at = null").WherePK().Exec(ctx); err != nil {
			return err
		}
		batch = &Batch{URL: row.URL, Ordered: row.Ordered, Position: progress.Position}
		if batch.Secrets, err = row.secrets(s.keys, u.now); err != nil {
			return fmt.Errorf("open secret of %s: %w", job.Endpoint, err)
		}
		if err := u.takeRetries(ctx, row, batch); err != nil {
			return fmt.Errorf("read deliveries due: %w", err)
		}
		if err := u.takeNew(ctx, row, progress, batch); err != nil {
			return fmt.Errorf("read events due: %w", err)
		}
		if len(batch.Items) == 0 && batch.Position == progress.Position {
			batch = nil
		}
		return nil
	})
	return batch, err
}

// Lines are the items by what may be sent at once: one line after the other within,
// and all lines beside each other.
func (b *Batch) Lines() [][]int {
	var lines [][]int
	place := make(map[uuid.UUID]int)
	for i := range b.Items {
		subject := b.Items[i].delivery.SubjectID
		if at, ok := place[subject]; ok && b.Ordered {
			lines[at] = append(lines[at], i)
			continue
		}
		place[subject] = len(lines)
		lines = append(lines, []int{i})
	}
	return lines
}

// AwaitBatch is TakeBatch that waits for something to be due.
func (s *Service) AwaitBatch(ctx context.Context, job DrainEndpoint, wait time.Duration) (*Batch, error) {
	batch, err := s.TakeBatch(ctx, job)
	if batch != nil || err != nil {
		return batch, err
	}
	err = s.numbered.until(ctx, s, job.Partner, wait, func() (bool, error) {
		// Bells ring for all events; only a due endpoint is worth a transaction.
		due, err := s.dueTo(ctx, job)
		if err != nil || !due {
			return false, err
		}
		batch, err = s.TakeBatch(ctx, job)
		return batch != nil, err
	})
	return batch, err
}

// dueTo tells whether something may be due to an endpoint that the drain holds.
func (s *Service) dueTo(ctx context.Context, job DrainEndpoint) (due bool, err error) {
	id, err := nounEndpoint.parse(job.Endpoint)
	if err != nil {
		return false, err
	}
	err = s.pool.QueryRow(ctx, "select exists (select from webhook_progress where endpoint_id = $1 and partner = $2 and drain = $3 and due_at is not null)",
		pgx.QueryExecModeCacheStatement, id, job.Partner, job.Token).Scan(&due)
	return due, err
}

// drained locks the progress of an endpoint that the drain holds; no row without.
func (u *unit) drained(ctx context.Context, job DrainEndpoint) (*endpointRow, *progressRow, error) {
	id, err := nounEndpoint.parse(job.Endpoint)
	if err != nil {
		return nil, nil, err
	}
	progress := new(progressRow)
	err = u.NewSelect().Model(progress).Where("endpoint_id = ?", id).Where("partner = ?", job.Partner).
		Where("drain = ?", job.Token).For("NO KEY UPDATE").Scan(ctx)
	if absent(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("lock progress: %w", err)
	}
	row := new(endpointRow)
	err = u.NewSelect().Model(row).Where("id = ?", id).Where("partner = ?", job.Partner).Where("status = ?", EndpointEnabled).Scan(ctx)
	if absent(err) {
		return nil, nil, nil
	}
	return row, progress, err
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
func (u *unit) takeNew(ctx context.Context, row *endpointRow, progress *progressRow, batch *Batch) error {
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
	var last int64
	if err := u.NewRaw("select coalesce(max(sequence), 0) from event_numbers where partner = ?", row.Partner).Scan(ctx, &last); err != nil {
		return err
	}
	end := min(last, progress.Position+drainWindow)
	var rows []numberedEvent
	q := numbered(u.NewSelect().Model(&rows)).
		Where("n.partner = ?", row.Partner).Where("n.sequence > ?", progress.Position).Where("n.sequence <= ?", end)
	if !slices.Contains(row.EventTypes, AllEvents) {
		q = q.Where("e.type in (?)", bun.List(row.EventTypes))
	}
	if err := q.OrderExpr("n.sequence").Limit(int64(allowed)).Scan(ctx); err != nil {
		return err
	}
	batch.Position = end
	if len(rows) == allowed {
		batch.Position = rows[len(rows)-1].Sequence
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
