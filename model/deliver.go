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
	maxBatchEvents  = 256              // new events a batch of a well endpoint
	maxBatchRetries = 64               // deliveries tried again a batch
	sequenceWindow  = 4096             // sequences looked at for events an endpoint wants
	runStartTimeout = 20 * time.Second // a drain that did not begin within died with its worker; one that only waits for a place ends when it has it
	runLeaseTime    = 10 * time.Second // and one that showed no life for so long is dead
	failingAfter    = 10               // failures in a row after which new events wait
	minProbeDelay   = 5 * time.Second  // how soon a failing endpoint is tried with a new event,
	maxProbeDelay   = 5 * time.Minute  // and how late when it has been failing for long
)

// DeliverEndpoint sends an endpoint what is due to it.
type DeliverEndpoint struct {
	Partner  string `json:"partner"`
	Endpoint string `json:"endpoint"`
	LeaseID  string `json:"token"`
	Failing  bool   `json:"ill,omitempty"` // it failed lately, so it must not keep others waiting
}

// Kind is the job's stable name.
func (DeliverEndpoint) Kind() string { return "drain_endpoint" }

// DeliveryBatch is what is due to an endpoint now.
type DeliveryBatch struct {
	URL     string
	Secrets [][]byte // sign, the new one first
	Ordered bool     // events of one subject go one after the other
	Items   []Outgoing
	// Cursor is the sequence the endpoint has come to when the batch is kept.
	Cursor     int64
	eventTypes []string // the endpoint's; nil for all
	isFull     bool     // with as many new events as an endpoint that bears all is sent
}

// Outgoing is one event to be sent.
type Outgoing struct {
	Event    wire.Event
	Body     []byte // exactly what GET /events/{id} answers
	Blocked  bool   // not to be sent yet: an earlier event of its subject is on its way
	delivery *deliveryRow
}

// deliveryRow is an event on its way to an endpoint, born with its first attempt.
type deliveryRow struct {
	bun.BaseModel `bun:"table:deliveries,alias:d"`
	RowHeader

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
	sequencedEvent `bun:",extend"`

	Delivery *uuid.UUID `bun:"type:uuid"`
}

// FetchBatch renews the drain's hold and reads what is due; nil when there is
// nothing or the token is not the drain's any more.
func (s *Service) FetchBatch(ctx context.Context, job DeliverEndpoint) (*DeliveryBatch, error) {
	var batch *DeliveryBatch
	err := s.InTx(ctx, System(), func(ctx context.Context, tx *Tx) error {
		row, progress, err := tx.lockLeasedEndpoint(ctx, job)
		if err != nil || row == nil {
			return err
		}
		batch = &DeliveryBatch{URL: row.URL, Ordered: row.Ordered, Cursor: progress.Position, eventTypes: row.subscribedTypes()}
		if batch.Secrets, err = row.openSecrets(s.keys, tx.now); err != nil {
			return fmt.Errorf("open secret of %s: %w", job.Endpoint, err)
		}
		due, err := tx.findDueWork(ctx, progress)
		if err != nil {
			return fmt.Errorf("see what is due: %w", err)
		}
		if due.hasRetries {
			if err := tx.fetchRetries(ctx, row, batch); err != nil {
				return fmt.Errorf("read deliveries due: %w", err)
			}
		}
		if err := tx.fetchNewEvents(ctx, row, progress, due.lastSequence, batch); err != nil {
			return fmt.Errorf("read events due: %w", err)
		}
		if len(batch.Items) == 0 && batch.Cursor == progress.Position {
			batch = nil
		}
		return nil
	})
	return batch, err
}

// ParallelGroups groups the items that must be sent one after the other; different groups
// may be sent concurrently.
func (b *DeliveryBatch) ParallelGroups() [][]int {
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

// WaitForBatch is FetchBatch that waits for something to be due.
func (s *Service) WaitForBatch(ctx context.Context, job DeliverEndpoint, wait time.Duration) (*DeliveryBatch, error) {
	batch, err := s.FetchBatch(ctx, job)
	if batch != nil || err != nil {
		return batch, err
	}
	err = s.eventsSequenced.waitUntil(ctx, s, job.Partner, wait, func() (bool, error) {
		// Bells ring for all events; only a due endpoint is worth a transaction.
		due, err := s.isEndpointDue(ctx, job)
		if err != nil || !due {
			return false, err
		}
		batch, err = s.FetchBatch(ctx, job)
		return batch != nil, err
	})
	return batch, err
}

// isEndpointDue tells whether something may be due to an endpoint that the drain holds.
func (s *Service) isEndpointDue(ctx context.Context, job DeliverEndpoint) (due bool, err error) {
	id, err := resourceEndpoint.parseID(job.Endpoint)
	if err != nil {
		return false, err
	}
	err = s.pool.QueryRow(ctx, "select exists (select from webhook_progress where endpoint_id = $1 and partner = $2 and drain = $3 and due_at is not null)",
		pgx.QueryExecModeCacheStatement, id, job.Partner, job.LeaseID).Scan(&due)
	return due, err
}

// lockLeasedProgress locks the progress of an endpoint that the drain holds; nil without. Who
// disables or deletes an endpoint takes it from its drain.
func (tx *Tx) lockLeasedProgress(ctx context.Context, job DeliverEndpoint) (*progressRow, error) {
	id, err := resourceEndpoint.parseID(job.Endpoint)
	if err != nil {
		return nil, err
	}
	var rows []progressRow
	text := tx.svc.statements.get(&rows, "held", func() string {
		return tx.NewSelect().Model(&rows).Where("endpoint_id = $1").Where("partner = $2").Where("drain = $3").For("NO KEY UPDATE").String()
	})
	tx.batch.Queue(idleTimeoutSQL, relayIdleTimeout) // the relay waits for this row
	tx.queueSelect(&rows, text, id, job.Partner, job.LeaseID)
	if err := tx.flush(ctx); err != nil {
		return nil, fmt.Errorf("lock progress: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // another drain's, or nobody's
	}
	return &rows[0], nil
}

// lockLeasedEndpoint is holding with the endpoint as it is now; no row without.
func (tx *Tx) lockLeasedEndpoint(ctx context.Context, job DeliverEndpoint) (*endpointRow, *progressRow, error) {
	progress, err := tx.lockLeasedProgress(ctx, job)
	if err != nil || progress == nil {
		return nil, nil, err
	}
	row := new(endpointRow)
	text := tx.svc.statements.get(row, "drained", func() string {
		return tx.NewSelect().Model(row).Where("id = $1").Where("partner = $2").Where("status = $3").String()
	})
	err = tx.svc.queryPreparedRow(ctx, tx.pgxConn, row, text, progress.EndpointID, progress.Partner, EndpointEnabled)
	if isNoRows(err) {
		return nil, nil, nil
	}
	return row, progress, err
}
