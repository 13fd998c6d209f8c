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

// unit is one unit of work: a transaction, one instant, one actor, and what is
// to be told when it commits. Helpers take the unit and never begin their own.
type unit struct {
	bun.Conn // in the transaction

	ctx   context.Context //nolint:containedctx // a unit lives exactly as long as its transaction's context
	pg    *pgx.Conn       // the same connection, for prepared statements
	later pgx.Batch       // statements that wait for the next that is asked for an answer
	svc   *Service
	actor Actor
	binds bool // it holds bindLock since before it read the clock: see bindTx

	// clock is what the business clock showed when the transaction read it. It decides
	// what is still allowed and what is due.
	clock time.Time
	// now is the time that records get: clock, or the last change of a locked record
	// where that is later. Another policy's change never decides about money.
	now time.Time

	records  uint16 // that the unit created
	events   []eventRow
	entries  []timelineRow
	postings []postingSet
	jobs     []Job
	deed     deed
}

// header is what every partner's row begins with.
type header struct {
	ID        uuid.UUID `bun:",pk,type:uuid"`
	Partner   string    `bun:",pk"`
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

func (h *header) head() *header { return h }

// references are the members of a row that belong to the partner.
type references struct {
	PartnerReference *string
	Metadata         map[string]string `bun:"type:json"`
}

// begin reads the clock, after the locks that must be held before an instant is taken.
// In the same round trip it looks for an earlier answer to the request, and asks what
// the operation asks first. It draws no transaction id: see keepNumbers.
func (u *unit) begin(ctx context.Context, ask func(*unit)) error {
	err := u.Raw(func(driver any) error {
		u.pg = driver.(*stdlib.Conn).Conn() //nolint:forcetypeassert // bun runs on pgx; see Open
		return nil
	})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	u.later.Queue("begin")
	if u.binds {
		u.later.Queue(lockBindShared, bindLock)
	}
	u.later.Queue("select " + businessNow).QueryRow(func(row pgx.Row) error { return row.Scan(&u.clock) })
	judge := u.once()
	ask(u)
	if err := u.send(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	u.now = u.clock
	return judge()
}

// send runs the statements that wait, prepared, in one round trip.
func (u *unit) send(ctx context.Context) error {
	batch := u.later
	u.later = pgx.Batch{}
	for _, statement := range batch.QueuedQueries {
		if _, err := u.pg.Prepare(ctx, statement.SQL, statement.SQL); err != nil {
			return err
		}
	}
	return u.pg.SendBatch(ctx, &batch).Close()
}

// read has the rows of a statement read into a slice, with what is sent next.
func (u *unit) read(into any, text string, args ...any) {
	u.later.Queue(text, args...).Query(func(rows pgx.Rows) error { return u.svc.all(rows, text, into) })
}

// rollbackTime is how long a transaction that failed may take to say so. Its
// connection is not used again if it takes longer.
const rollbackTime = 2 * time.Second

// abandon undoes what was not committed, when the request has already been given
// up too.
func (u *unit) abandon(ctx context.Context) {
	if u.pg == nil || u.pg.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	_, _ = u.pg.Exec(ctx, "rollback")
}

// since moves the instant forward to a locked record's last change, so that
// time never runs backward along a record.
func (u *unit) since(rows ...*header) {
	for _, row := range rows {
		if row.UpdatedAt.After(u.now) {
			u.now = row.UpdatedAt
		}
	}
}

// renew reads the clock again, for what must not lie before anything that was
// decided while the unit waited for a lock.
func (u *unit) renew(ctx context.Context) error {
	if err := u.pg.QueryRow(ctx, "select "+businessNow).Scan(&u.clock); err != nil {
		return fmt.Errorf("renew: %w", err)
	}
	u.now = maxTime(u.now, u.clock)
	return nil
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fresh is the header of a new row of a partner.
func (u *unit) fresh(partner string) header {
	u.records++
	return header{ID: recordID(u.now, u.records), Partner: partner, Version: 1, CreatedAt: u.now, UpdatedAt: u.now}
}

// locked reads a row for change: FOR NO KEY UPDATE, tenancy included. The
// caller keeps the lock order policy, claim, payout.
func (u *unit) locked(ctx context.Context, row interface{ head() *header }, id uuid.UUID, kind noun) error {
	text := u.svc.texts.of(row, "lock "+u.actor.seen(), func() string {
		return u.actor.byID(u.NewSelect().Model(row)).For("NO KEY UPDATE").String()
	})
	if err := u.svc.preparedRow(ctx, u.pg, row, text, id, u.actor.tenant()); err != nil {
		if absent(err) {
			return kind.notFound()
		}
		return fmt.Errorf("lock %s: %w", kind.name, err)
	}
	u.since(row.head())
	return nil
}

// touch raises a row's version and time in memory; save writes them.
func (u *unit) touch(row *header) {
	row.Version++
	row.UpdatedAt = u.now
}

// save writes columns of a row that still has the version it was read with.
// Nothing written means that somebody was faster: a conflict.
func (u *unit) save(ctx context.Context, row interface{ head() *header }, columns ...string) error {
	h := row.head()
	was := h.Version
	u.touch(h)
	return u.update(ctx, row, was, nil, append(columns, "version", "updated_at")...)
}

// move is save for a change of state: the life cycle must have the arrow, and
// the row must still be in the state it leaves. It returns the arrow's event.
func move[S ~string](ctx context.Context, u *unit, row interface{ head() *header }, arrows []Arrow[S], status *S, to S, columns ...string) (EventType, error) {
	from, was := *status, row.head().Version
	event, err := step(u, row.head(), arrows, status, to)
	if err != nil {
		return "", err
	}
	return event, u.update(ctx, row, was, []string{string(from)}, append(columns, "status", "version", "updated_at")...)
}

// step is a move in memory, for rows that are locked and written in bulk.
func step[S ~string](u *unit, row *header, arrows []Arrow[S], status *S, to S) (EventType, error) {
	event, ok := arrow(arrows, *status, to)
	if !ok && *status == to {
		return "", Fail(CodeStateConflict, "It is %s already.", to)
	}
	if !ok {
		return "", Fail(CodeStateConflict, "It is %s and cannot become %s.", *status, to)
	}
	*status = to
	u.touch(row)
	return event, nil
}

// overtaken is the answer to whoever came second.
func overtaken() *Error {
	return Fail(CodeStateConflict, "Somebody else changed it at the same moment; read it again and retry.")
}

// as lets somebody else act until the returned function is called.
func (u *unit) as(actor Actor) (restore func()) {
	was := u.actor
	u.actor = actor
	return func() { u.actor = was }
}

// enqueue asks for work that starts only if the transaction commits.
func (u *unit) enqueue(job Job) { u.jobs = append(u.jobs, job) }

// commit writes what the unit collected, in a few statements however much it is,
// and ends it.
func (u *unit) commit(ctx context.Context) error {
	if len(u.events) > 0 {
		u.keepEvents()
	}
	if len(u.entries) > 0 {
		u.keepEntries()
	}
	if len(u.postings) > 0 {
		u.keepPostings()
	}
	if len(u.jobs) > 0 {
		if err := u.send(ctx); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		if err := u.svc.queue.Insert(ctx, u.Conn, u.jobs); err != nil {
			return fmt.Errorf("ask for work: %w", err)
		}
	}
	u.later.Queue("commit").Exec(func(done pgconn.CommandTag) error {
		if done.String() != "COMMIT" { // somebody went on after a statement had failed
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	if err := u.send(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
