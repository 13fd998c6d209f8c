package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/groupcommit"
	"parapet/model/kernel/optimistic"
	"parapet/model/kernel/recordid"
	"parapet/model/kernel/rowscan"
	"parapet/model/kernel/wal"
)

// Tx is one database transaction with one instant, one actor and everything that is
// written at commit: events, timeline entries, postings, jobs. Helpers take a *Tx and
// never begin their own.
type Tx struct {
	bun.Conn // the connection of the transaction

	Ctx           context.Context //nolint:containedctx // a Tx lives exactly as long as its transaction's context
	PgxConn       *pgx.Conn       // the same connection, for prepared statements
	Batch         pgx.Batch       // queued statements, sent with the next flush
	copies        []dbconn.Copy   // among the queued statements
	Store         *Store
	Actor         actor.Actor
	holdsBindLock bool              // it took BindLock before it read the clock: see BindTx
	reads         *optimistic.Reads // of the transaction at its beginning
	grouped       bool              // it is a part of a shared transaction
	commitSent    bool              // or was about to be
	endTurn       func()            // others wait for the end of its turn: see LeaveGroup; nil: none do

	// Clock is the business time when the transaction read it. It decides what is still
	// allowed and what is due.
	Clock time.Time
	// Now is the time written to records: clock, or the last change of a locked record
	// if that is later. Decisions about money use clock, so a change of another policy
	// never affects them.
	Now time.Time

	recordCount uint16 // records created by this Tx
	events      []EventRow
	collected   [rowCollections]rowCollection
	Jobs        []Job
	Audit       auditContext
}

// RowHeader is the common header of every partner's row.
type RowHeader struct {
	ID        uuid.UUID `bun:",pk,type:uuid"`
	Partner   string    `bun:",pk"`
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

func (h *RowHeader) head() *RowHeader { return h }

// PartnerFields are the members of a row that belong to the partner.
type PartnerFields struct {
	PartnerReference *string
	Metadata         map[string]string `bun:"type:json"`
}

// begin reads the clock, after the locks that must be held before an instant is taken.
// In the same round trip it looks up an earlier response to the request and sends the
// operation's prelude. It draws no transaction id: see saveSequencesSQL.
func (tx *Tx) begin(ctx context.Context, prelude func(*Tx)) error {
	tx.Batch.Queue("begin")
	if tx.holdsBindLock {
		tx.Batch.Queue(lockBindSharedSQL, BindLock)
	}
	tx.readClock(tx.Store.memory.Read())
	judge := tx.acquireIdempotencyKey()
	prelude(tx)
	if err := tx.Flush(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return judge()
}

// readClock reads the clock, as the first of the reads.
func (tx *Tx) readClock(reads *optimistic.Reads) {
	tx.reads = reads
	reads.QueueClock(&tx.Batch, BusinessNowSQL, func(clock time.Time) { tx.Clock, tx.Now = clock, clock })
}

// checkPrecondition checks the actor's condition, if there is one.
func (tx *Tx) checkPrecondition(ctx context.Context) error {
	condition := tx.Actor.Precondition
	if condition == nil {
		return nil
	}
	record, err := tx.Store.hooks.LockRecord(ctx, tx, condition.ID)
	if err != nil {
		return err
	}
	return condition.Check(record)
}

// Flush sends the queued statements, prepared, in one round trip. Many rows of one table
// are copied, in two round trips of their own.
func (tx *Tx) Flush(ctx context.Context) error {
	if tx.grouped {
		return groupcommit.ErrRunAlone
	}
	statements, copies := tx.Batch.QueuedQueries, tx.copies
	tx.Batch, tx.copies = pgx.Batch{}, nil
	return dbconn.Send(ctx, tx.PgxConn, statements, copies)
}

// QueueSelect queues a query; the next flush scans its rows into the slice.
func (tx *Tx) QueueSelect(into any, text string, args ...any) {
	tx.Batch.Queue(text, args...).Query(func(rows pgx.Rows) error { return rowscan.All(tx.Store.DB, rows, text, into) })
}

// QueueRead is QueueSelect at the beginning of the transaction for a query without
// arguments, whose result seldom changes. Its columns have the names of the rows' fields.
func (tx *Tx) QueueRead(into any, text string) { tx.reads.Queue(&tx.Batch, text, into) }

// rollbackTimeout bounds a rollback. A connection that takes longer is not reused.
const rollbackTimeout = 2 * time.Second

// rollback undoes uncommitted changes, even if the request's context is cancelled. It asks
// for the connection again: database/sql gives a connection back, and the pool closes it in
// the background, when it refuses a statement because its context has ended. A use of
// PgxConn at the same time would end the process (github.com/jackc/pgx/issues/2332).
func (tx *Tx) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Raw(func(any) error {
		if tx.PgxConn == nil || tx.PgxConn.PgConn().TxStatus() == 'I' {
			return nil
		}
		_, err := tx.PgxConn.Exec(ctx, "rollback")
		return err
	})
}

// AdvanceClock moves the transaction's instant to a locked row's updated_at if that is
// later, so that times of a row never decrease.
func (tx *Tx) AdvanceClock(rows ...*RowHeader) {
	for _, row := range rows {
		if row.UpdatedAt.After(tx.Now) {
			tx.Now = row.UpdatedAt
		}
	}
}

// RefreshClock reads the clock again after a lock wait. The instant never moves backward.
func (tx *Tx) RefreshClock(ctx context.Context) error {
	if err := tx.PgxConn.QueryRow(ctx, "select "+BusinessNowSQL).Scan(&tx.Clock); err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	tx.Now = LaterTime(tx.Now, tx.Clock)
	return nil
}

// EarlierTime returns the earlier of two times.
func EarlierTime(a, b time.Time) time.Time {
	return slices.MinFunc([]time.Time{a, b}, time.Time.Compare)
}

// LaterTime returns the later of two times.
func LaterTime(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// NewHeader returns the header of a partner's new row: id, version 1, both times.
func (tx *Tx) NewHeader(partner string) RowHeader {
	tx.recordCount++
	return RowHeader{ID: recordid.At(tx.Now, tx.recordCount), Partner: partner, Version: 1, CreatedAt: tx.Now, UpdatedAt: tx.Now}
}

// BumpVersion increments a row's version and sets its time in memory; SaveColumns
// writes them.
func (tx *Tx) BumpVersion(row *RowHeader) {
	row.Version++
	row.UpdatedAt = tx.Now
}

// SaveColumns writes columns of a row if its version is still the one that was read.
// Zero updated rows are a conflict.
func (tx *Tx) SaveColumns(ctx context.Context, row interface{ head() *RowHeader }, columns ...string) error {
	h := row.head()
	was := h.Version
	tx.BumpVersion(h)
	return tx.UpdateRow(ctx, row, was, nil, append(columns, "version", "updated_at")...)
}

// ChangeStatus is SaveColumns for a change of status: the transition must be allowed, and
// the row must still have the status it leaves. It returns the transition's event.
func ChangeStatus[S ~string](ctx context.Context, tx *Tx, row interface{ head() *RowHeader }, allowed []Transition[S], status *S, to S, columns ...string) (event.Type, error) {
	from, was := *status, row.head().Version
	event, err := ChangeStatusInMemory(tx, row.head(), allowed, status, to)
	if err != nil {
		return "", err
	}
	return event, tx.UpdateRow(ctx, row, was, []string{string(from)}, append(columns, "status", "version", "updated_at")...)
}

// ChangeStatusInMemory is transition in memory, for rows that are locked and written in
// bulk.
func ChangeStatusInMemory[S ~string](tx *Tx, row *RowHeader, allowed []Transition[S], status *S, to S) (event.Type, error) {
	event, ok := findTransition(allowed, *status, to)
	if !ok && *status == to {
		return "", apperr.Fail(apperr.CodeStateConflict, "It is %s already.", to)
	}
	if !ok {
		return "", apperr.Fail(apperr.CodeStateConflict, "It is %s and cannot become %s.", *status, to)
	}
	*status = to
	tx.BumpVersion(row)
	return event, nil
}

// VersionConflict returns the error for a row that another transaction changed first.
func VersionConflict() *apperr.Error {
	return apperr.Fail(apperr.CodeStateConflict, "Another request changed it at the same moment; read it again and retry.")
}

// WithActor replaces the actor until the returned function is called.
func (tx *Tx) WithActor(actor actor.Actor) (restore func()) {
	was := tx.Actor
	tx.Actor = actor
	return func() { tx.Actor = was }
}

// EnqueueJob enqueues a job that starts only if the transaction commits.
func (tx *Tx) EnqueueJob(job Job) { tx.Jobs = append(tx.Jobs, job) }

// commit flushes events, timeline entries, postings and jobs in a fixed order, then
// commits and wakes the relay.
func (tx *Tx) commit(ctx context.Context) error {
	if len(tx.events) > 0 {
		if err := tx.saveEvents(ctx); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	for _, rows := range tx.collected {
		if rows == nil {
			continue
		}
		if err := rows.QueueInsert(tx); err != nil {
			return fmt.Errorf("write collected rows: %w", err)
		}
	}
	if len(tx.Jobs) > 0 {
		if err := tx.Flush(ctx); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		if err := tx.Store.queue.Insert(ctx, tx.Conn, tx.Jobs); err != nil {
			return fmt.Errorf("ask for work: %w", err)
		}
	}
	committed := false
	tx.Batch.Queue("commit").Exec(func(done pgconn.CommandTag) error {
		if committed = done.String() == "COMMIT"; !committed { // the caller continued after a failed statement
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	wal.QueuePosition(ctx, &tx.Batch)
	tx.commitSent = true
	if err := tx.Flush(ctx); err != nil && !committed {
		return fmt.Errorf("commit: %w", err)
	}
	if len(tx.events) > 0 {
		select {
		case tx.Store.committed <- struct{}{}:
		default: // reported already
		}
	}
	return nil
}
