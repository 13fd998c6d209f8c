package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"parapet/model/events"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/wire"
)

// At most one delivery run serves an endpoint: a job that holds the endpoint's lease. It
// reads the due events, sends them outside of any transaction, and saves the results
// together with the endpoint's cursor. A run that dies has saved nothing of its last
// batch, which is then sent again: delivery is at least once. No wake-up is lost, because
// the relay and the end of a run both lock the progress row.
const (
	maxBatchEvents  = 256              // new events per batch of a working endpoint
	maxBatchRetries = 64               // retried deliveries per batch
	sequenceWindow  = 4096             // sequences searched for events of the endpoint's types
	runStartTimeout = 20 * time.Second // a run not started within this time is presumed dead; a run that was only queued exits on start because its lease was replaced
	runLeaseTime    = 10 * time.Second // a run without a renewal for this long is presumed dead
	FailingAfter    = 10               // failures in a row after which new events wait
	minProbeDelay   = 5 * time.Second  // first delay before a failing endpoint gets a new event
	maxProbeDelay   = 5 * time.Minute  // longest such delay
)

// DeliverEndpoint delivers the due events of an endpoint.
type DeliverEndpoint struct {
	Partner  string `json:"partner"`
	Endpoint string `json:"endpoint"`
	LeaseID  string `json:"lease_id"`
	Failing  bool   `json:"failing,omitempty"` // recent failures: other endpoints must not wait for it
}

// Kind is the job's stable name.
func (DeliverEndpoint) Kind() string { return "deliver_endpoint" }

// DeliveryBatch is the work due for an endpoint.
type DeliveryBatch struct {
	URL     string
	Secrets [][]byte // signing secrets, newest first
	Ordered bool     // events of one subject are sent one after the other
	Items   []Outgoing
	// Cursor is the endpoint's cursor after the batch is saved.
	Cursor     int64
	eventTypes []string // the endpoint's types; nil for all
	isFull     bool     // it has the maximum number of new events
}

// Outgoing is one event to send.
type Outgoing struct {
	Event    wire.Event
	Body     []byte // exactly the body of GET /events/{id}
	Blocked  bool   // do not send yet: an earlier event of its subject is not delivered
	delivery *deliveryRow
}

// deliveryRow is the delivery of one event to an endpoint. The first attempt creates it.
type deliveryRow struct {
	bun.BaseModel `bun:"table:deliveries,alias:d"`
	store.RowHeader

	EndpointID      uuid.UUID `bun:"type:uuid"`
	EventID         uuid.UUID `bun:"type:uuid"`
	Sequence        int64
	SubjectID       uuid.UUID `bun:"type:uuid"`
	Status          DeliveryStatus
	AttemptsInRound int            // attempts since the creation or the last retry by hand
	Attempts        []wire.Attempt `bun:"type:json"`
	NextAttemptAt   *time.Time
}

// dueEvent is an event with the id of its delivery, nil before the first attempt.
type dueEvent struct {
	events.SequencedEvent `bun:",extend"`

	Delivery *uuid.UUID `bun:"type:uuid"`
}

// FetchBatch renews the run's lease and reads the due work. It returns nil when nothing
// is due or the run no longer holds the lease.
func (s *Service) FetchBatch(ctx context.Context, job DeliverEndpoint) (*DeliveryBatch, error) {
	var batch *DeliveryBatch
	err := s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		row, progress, err := lockLeasedEndpoint(ctx, tx, job)
		if err != nil || row == nil {
			return err
		}
		batch = &DeliveryBatch{URL: row.URL, Ordered: row.Ordered, Cursor: progress.Cursor, eventTypes: row.subscribedTypes()}
		if batch.Secrets, err = row.openSecrets(s.Keys, tx.Now); err != nil {
			return fmt.Errorf("open secret of %s: %w", job.Endpoint, err)
		}
		due, err := findDueWork(ctx, tx, progress)
		if err != nil {
			return fmt.Errorf("see what is due: %w", err)
		}
		if due.hasRetries {
			if err := fetchRetries(ctx, tx, row, batch); err != nil {
				return fmt.Errorf("read deliveries due: %w", err)
			}
		}
		if err := fetchNewEvents(ctx, tx, row, progress, due.lastSequence, batch); err != nil {
			return fmt.Errorf("read events due: %w", err)
		}
		if len(batch.Items) == 0 && batch.Cursor == progress.Cursor {
			batch = nil
		}
		return nil
	})
	return batch, err
}

// ParallelGroups groups the items that must be sent one after the other; different groups
// may be sent concurrently.
func (b *DeliveryBatch) ParallelGroups() [][]int {
	var groups [][]int
	place := make(map[uuid.UUID]int)
	for i := range b.Items {
		subject := b.Items[i].delivery.SubjectID
		if at, ok := place[subject]; ok && b.Ordered {
			groups[at] = append(groups[at], i)
			continue
		}
		place[subject] = len(groups)
		groups = append(groups, []int{i})
	}
	return groups
}

// WaitForBatch waits up to wait until something is due, and returns it like FetchBatch.
func (s *Service) WaitForBatch(ctx context.Context, job DeliverEndpoint, wait time.Duration) (*DeliveryBatch, error) {
	batch, err := s.FetchBatch(ctx, job)
	if batch != nil || err != nil {
		return batch, err
	}
	err = store.Local[events.Notifier](s.Store).WaitUntil(ctx, s.Store, job.Partner, wait, func(int64) (bool, error) {
		// The notifier fires for every event; only a due endpoint needs a transaction.
		due, err := s.isEndpointDue(ctx, job)
		if err != nil || !due {
			return false, err
		}
		batch, err = s.FetchBatch(ctx, job)
		return batch != nil, err
	})
	return batch, err
}

// isEndpointDue reports whether something may be due for an endpoint whose lease the run
// holds.
func (s *Service) isEndpointDue(ctx context.Context, job DeliverEndpoint) (due bool, err error) {
	id, err := store.ResourceEndpoint.ParseID(job.Endpoint)
	if err != nil {
		return false, err
	}
	err = s.Pool.QueryRow(ctx, "select exists (select from webhook_progress where endpoint_id = $1 and partner = $2 and lease_id = $3 and due_at is not null)",
		pgx.QueryExecModeCacheStatement, id, job.Partner, job.LeaseID).Scan(&due)
	return due, err
}

// lockLeasedProgress locks the progress of an endpoint whose lease the run holds. It
// returns nil without the lease, for example after the endpoint was disabled or deleted.
func lockLeasedProgress(ctx context.Context, tx *store.Tx, job DeliverEndpoint) (*progressRow, error) {
	id, err := store.ResourceEndpoint.ParseID(job.Endpoint)
	if err != nil {
		return nil, err
	}
	var rows []progressRow
	text := tx.Store.Statements.Get(&rows, "held", func() string {
		return tx.NewSelect().Model(&rows).Where("endpoint_id = $1").Where("partner = $2").Where("lease_id = $3").For("NO KEY UPDATE").String()
	})
	tx.Batch.Queue(events.IdleTimeoutSQL, events.RelayIdleTimeout) // the relay waits for this row's lock
	tx.QueueSelect(&rows, text, id, job.Partner, job.LeaseID)
	if err := tx.Flush(ctx); err != nil {
		return nil, fmt.Errorf("lock progress: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // another run has the lease, or none has
	}
	return &rows[0], nil
}

// lockLeasedEndpoint is lockLeasedProgress that also reads the endpoint; both are nil
// without the lease.
func lockLeasedEndpoint(ctx context.Context, tx *store.Tx, job DeliverEndpoint) (*EndpointRow, *progressRow, error) {
	progress, err := lockLeasedProgress(ctx, tx, job)
	if err != nil || progress == nil {
		return nil, nil, err
	}
	row := new(EndpointRow)
	text := tx.Store.Statements.Get(row, "drained", func() string {
		return tx.NewSelect().Model(row).Where("id = $1").Where("partner = $2").Where("status = $3").String()
	})
	err = tx.Store.QueryPreparedRow(ctx, tx.PgxConn, row, text, progress.EndpointID, progress.Partner, EndpointEnabled)
	if store.IsNoRows(err) {
		return nil, nil, nil
	}
	return row, progress, err
}
