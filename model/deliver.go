package model

import (
	"context"
	"fmt"
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
	drainQueued  = 20 * time.Second // a drain that did not begin within died with its worker; one that only waits for a place ends when it has it
	drainSilent  = 10 * time.Second // and one that showed no life for so long is dead
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
	types    []string // the endpoint's; nil for all
	full     bool     // with as many new events as an endpoint that bears all is sent
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
		batch = &Batch{URL: row.URL, Ordered: row.Ordered, Position: progress.Position, types: row.wanted()}
		if batch.Secrets, err = row.secrets(s.keys, u.now); err != nil {
			return fmt.Errorf("open secret of %s: %w", job.Endpoint, err)
		}
		due, err := u.dueWork(ctx, progress)
		if err != nil {
			return fmt.Errorf("see what is due: %w", err)
		}
		if due.again {
			if err := u.takeRetries(ctx, row, batch); err != nil {
				return fmt.Errorf("read deliveries due: %w", err)
			}
		}
		if err := u.takeNew(ctx, row, progress, due.last, batch); err != nil {
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

// holding locks the progress of an endpoint that the drain holds; nil without. Who
// disables or deletes an endpoint takes it from its drain.
func (u *unit) holding(ctx context.Context, job DrainEndpoint) (*progressRow, error) {
	id, err := nounEndpoint.parse(job.Endpoint)
	if err != nil {
		return nil, err
	}
	var rows []progressRow
	text := u.svc.texts.of(&rows, "held", func() string {
		return u.NewSelect().Model(&rows).Where("endpoint_id = $1").Where("partner = $2").Where("drain = $3").For("NO KEY UPDATE").String()
	})
	u.later.Queue(briefly, hungAfter) // the relay waits for this row
	u.read(&rows, text, id, job.Partner, job.Token)
	if err := u.send(ctx); err != nil {
		return nil, fmt.Errorf("lock progress: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // another drain's, or nobody's
	}
	return &rows[0], nil
}

// drained is holding with the endpoint as it is now; no row without.
func (u *unit) drained(ctx context.Context, job DrainEndpoint) (*endpointRow, *progressRow, error) {
	progress, err := u.holding(ctx, job)
	if err != nil || progress == nil {
		return nil, nil, err
	}
	row := new(endpointRow)
	text := u.svc.texts.of(row, "drained", func() string {
		return u.NewSelect().Model(row).Where("id = $1").Where("partner = $2").Where("status = $3").String()
	})
	err = u.svc.preparedRow(ctx, u.pg, row, text, progress.EndpointID, progress.Partner, EndpointEnabled)
	if absent(err) {
		return nil, nil, nil
	}
	return row, progress, err
}
