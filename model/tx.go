package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
)

// Tx is one database transaction with one instant, one actor and everything that is
// written at commit: events, timeline entries, postings, jobs. Helpers take a *Tx and
// never begin their own.
type Tx struct {
	bun.Conn // the connection of the transaction

	ctx           context.Context //nolint:containedctx // a Tx lives exactly as long as its transaction's context
	pgxConn       *pgx.Conn       // the same connection, for prepared statements
	batch         pgx.Batch       // queued statements, sent with the next flush
	store         *Store
	actor         Actor
	holdsBindLock bool // it took bindLock before it read the clock: see bindTx

	// clock is the business time when the transaction read it. It decides what is still
	// allowed and what is due.
	clock time.Time
	// now is the time written to records: clock, or the last change of a locked record
	// if that is later. Decisions about money use clock, so a change of another policy
	// never affects them.
	now time.Time

	recordCount uint16 // records created by this Tx
	events      []eventRow
	collected   [rowCollections]rowCollection
	jobs        []Job
	audit       auditContext
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
	err := tx.Raw(func(driver any) error {
		tx.pgxConn = driver.(*stdlib.Conn).Conn() //nolint:forcetypeassert // bun runs on pgx; see Open
		return nil
	})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	tx.batch.Queue("begin")
	if tx.holdsBindLock {
		tx.batch.Queue(lockBindSharedSQL, bindLock)
	}
	tx.batch.Queue("select " + businessNowSQL).QueryRow(func(row pgx.Row) error { return row.Scan(&tx.clock) })
	judge := tx.acquireIdempotencyKey()
	prelude(tx)
	if err := tx.flush(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	tx.now = tx.clock
	return judge()
}

// checkPrecondition checks the actor's condition, if there is one.
func (tx *Tx) checkPrecondition(ctx context.Context) error {
	condition := tx.actor.Precondition
	if condition == nil {
		return nil
	}
	record, err := tx.store.hooks.LockRecord(ctx, tx, condition.ID)
	if err != nil {
		return err
	}
	return condition.Check(record)
}

// flush sends the queued statements, prepared, in one round trip.
func (tx *Tx) flush(ctx context.Context) error {
	batch := tx.batch
	tx.batch = pgx.Batch{}
	for _, statement := range batch.QueuedQueries {
		if _, err := tx.pgxConn.Prepare(ctx, statement.SQL, statement.SQL); err != nil {
			return err
		}
	}
	return tx.pgxConn.SendBatch(ctx, &batch).Close()
}

// queueSelect queues a query; the next flush scans its rows into the slice.
func (tx *Tx) queueSelect(into any, text string, args ...any) {
	tx.batch.Queue(text, args...).Query(func(rows pgx.Rows) error { return tx.store.scanAll(rows, text, into) })
}

// rollbackTimeout bounds a rollback. A connection that takes longer is not reused.
const rollbackTimeout = 2 * time.Second

// rollback undoes uncommitted changes, even if the request's context is cancelled.
func (tx *Tx) rollback(ctx context.Context) {
	if tx.pgxConn == nil || tx.pgxConn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = tx.pgxConn.Exec(ctx, "rollback")
}

// advanceClock moves the transaction's instant to a locked row's updated_at if that is
// later, so that times of a row never decrease.
func (tx *Tx) advanceClock(rows ...*RowHeader) {
	for _, row := range rows {
		if row.UpdatedAt.After(tx.now) {
			tx.now = row.UpdatedAt
		}
	}
}

// refreshClock reads the clock again after a lock wait. The instant never moves backward.
func (tx *Tx) refreshClock(ctx context.Context) error {
	if err := tx.pgxConn.QueryRow(ctx, "select "+businessNowSQL).Scan(&tx.clock); err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	tx.now = laterTime(tx.now, tx.clock)
	return nil
}

func earlierTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// newHeader returns the header of a partner's new row: id, version 1, both times.
func (tx *Tx) newHeader(partner string) RowHeader {
	tx.recordCount++
	return RowHeader{ID: newRecordID(tx.now, tx.recordCount), Partner: partner, Version: 1, CreatedAt: tx.now, UpdatedAt: tx.now}
}

// lockRow reads and locks a row FOR NO KEY UPDATE, if the actor may see it. The caller
// keeps the lock order policy, claim, payout.
func (tx *Tx) lockRow(ctx context.Context, row interface{ head() *RowHeader }, id uuid.UUID, kind ResourceType) error {
	text := tx.store.statements.get(row, "lock "+tx.actor.tenantPredicate(), func() string {
		return tx.actor.restrictToID(tx.NewSelect().Model(row)).For("NO KEY UPDATE").String()
	})
	if err := tx.store.queryPreparedRow(ctx, tx.pgxConn, row, text, id, tx.actor.tenantArg()); err != nil {
		if isNoRows(err) {
			return kind.notFoundError()
		}
		return fmt.Errorf("lock %s: %w", kind.name, err)
	}
	tx.advanceClock(row.head())
	return nil
}

// bumpVersion increments a row's version and sets its time in memory; saveColumns
// writes them.
func (tx *Tx) bumpVersion(row *RowHeader) {
	row.Version++
	row.UpdatedAt = tx.now
}

// saveColumns writes columns of a row if its version is still the one that was read.
// Zero updated rows are a conflict.
func (tx *Tx) saveColumns(ctx context.Context, row interface{ head() *RowHeader }, columns ...string) error {
	h := row.head()
	was := h.Version
	tx.bumpVersion(h)
	return tx.updateRow(ctx, row, was, nil, append(columns, "version", "updated_at")...)
}

// transition is saveColumns for a change of status: the transition must be allowed, and
// the row must still have the status it leaves. It returns the transition's event.
func transition[S ~string](ctx context.Context, tx *Tx, row interface{ head() *RowHeader }, allowed []Transition[S], status *S, to S, columns ...string) (EventType, error) {
	from, was := *status, row.head().Version
	event, err := transitionInMemory(tx, row.head(), allowed, status, to)
	if err != nil {
		return "", err
	}
	return event, tx.updateRow(ctx, row, was, []string{string(from)}, append(columns, "status", "version", "updated_at")...)
}

// transitionInMemory is transition in memory, for rows that are locked and written in
// bulk.
func transitionInMemory[S ~string](tx *Tx, row *RowHeader, allowed []Transition[S], status *S, to S) (EventType, error) {
	event, ok := findTransition(allowed, *status, to)
	if !ok && *status == to {
		return "", Fail(CodeStateConflict, "It is %s already.", to)
	}
	if !ok {
		return "", Fail(CodeStateConflict, "It is %s and cannot become %s.", *status, to)
	}
	*status = to
	tx.bumpVersion(row)
	return event, nil
}

// versionConflict returns the error for a row that another transaction changed first.
func versionConflict() *Error {
	return Fail(CodeStateConflict, "Another request changed it at the same moment; read it again and retry.")
}

// withActor replaces the actor until the returned function is called.
func (tx *Tx) withActor(actor Actor) (restore func()) {
	was := tx.actor
	tx.actor = actor
	return func() { tx.actor = was }
}

// enqueueJob enqueues a job that starts only if the transaction commits.
func (tx *Tx) enqueueJob(job Job) { tx.jobs = append(tx.jobs, job) }

// rowCollection is rows that a subdomain collects during a transaction; queueInsert
// queues one statement for all of them before the commit.
type rowCollection interface{ queueInsert(tx *Tx) }

// collectionOrder is the place of a collection in the order in which a commit writes them,
// after the events that the rows refer to.
type collectionOrder int

const (
	timelineCollection collectionOrder = iota
	postingCollection
	rowCollections // the number of collections
)

// collect returns the transaction's collection of a kind, which starts as the zero value.
func collect[T any, P interface {
	*T
	rowCollection
}](tx *Tx, order collectionOrder) P {
	if tx.collected[order] == nil {
		tx.collected[order] = P(new(T))
	}
	return tx.collected[order].(P) //nolint:forcetypeassert // one type has one place in the order
}

// commit flushes events, timeline entries, postings and jobs in a fixed order, then
// commits.
func (tx *Tx) commit(ctx context.Context) error {
	if len(tx.events) > 0 {
		tx.saveEvents()
	}
	for _, rows := range tx.collected {
		if rows != nil {
			rows.queueInsert(tx)
		}
	}
	if len(tx.jobs) > 0 {
		if err := tx.flush(ctx); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		if err := tx.store.queue.Insert(ctx, tx.Conn, tx.jobs); err != nil {
			return fmt.Errorf("ask for work: %w", err)
		}
	}
	tx.batch.Queue("commit").Exec(func(done pgconn.CommandTag) error {
		if done.String() != "COMMIT" { // the caller continued after a failed statement
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	if err := tx.flush(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
