package model

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"

	"parapet/model/hazard"
)

// Config holds the dependencies and settings of the domain layer.
type Config struct {
	DB      *Database
	Queue   JobQueue        // enqueues the jobs of a change
	Jobs    JobAdmin        // queue administration for operators; nil disables it
	Files   FileStore       // stores attachments
	Keys    Keys            // for bank details, cursors and fingerprints
	History *hazard.History // events for pricing; nil means the shipped history
	// Development allows rehearsals, which a production server must refuse: sandbox
	// observations and replayed history.
	Development bool
	// RehearsalClock lets rehearsed days at a station move the business clock, which
	// all partners share.
	RehearsalClock bool
	Webhooks       Webhooks
	// Sleep waits between two polls of running sends; nil uses the real clock.
	Sleep func(context.Context, time.Duration) error
	// ResumeCheckTimeout is how long ResumeReleases waits for the invariant check
	// before it leaves the check to the run; zero means two seconds.
	ResumeCheckTimeout time.Duration
	// BatchRelease states that the rail accepts batches: one ReleaseBatch replaces a
	// ReleasePayout per payout.
	BatchRelease bool
}

// Webhooks configures the sending of events to partners' endpoints.
type Webhooks struct {
	// TargetProblem returns why an address must not be called, empty if it may be; nil
	// accepts every address.
	TargetProblem func(*url.URL) string
	// DelayDivisor divides the delays between attempts in development; 0 and 1 keep
	// them.
	DelayDivisor int
}

func (w Webhooks) scaleDelay(wait time.Duration) time.Duration {
	return wait / time.Duration(max(1, w.DelayDivisor))
}

// Service is the domain layer. Every operation of REST, GraphQL, the jobs and the
// command line is one of its methods. Operations return *Error for everything a caller
// can act on; any other error is internal.
type Service struct {
	db              *bun.DB
	pool            *pgxpool.Pool // for prepared statements
	queue           JobQueue
	jobs            JobAdmin
	files           FileStore
	keys            Keys
	cursorKeys      Keys
	history         *hazard.History
	development     bool
	rehearsalClock  bool
	batchRelease    bool
	catalog         productCache
	partners        partnerCache
	feeds           ttlCache[feedGenerations]
	statements      statementCache
	eventsSequenced notifier
	webhooks        Webhooks
	refusalCounts   refusalLog
	eventsCommitted chan struct{}
	registeredRails sync.Map // set of RailIdentity
	releaseSession  *sendSession
	sleep           func(context.Context, time.Duration) error

	resumeCheckTimeout time.Duration

	relayWasBusy atomic.Bool // the last pass of the relay in this process numbered events
}

// New returns the domain layer. It does not connect to the database.
func New(c Config) (*Service, error) {
	if err := c.Keys.Check(); err != nil {
		return nil, err
	}
	if c.Webhooks.TargetProblem == nil {
		c.Webhooks.TargetProblem = func(*url.URL) string { return "" }
	}
	if c.History == nil {
		c.History = hazard.Shipped()
	}
	cursorKeys, err := c.Keys.deriveCursorKeys()
	if err != nil {
		return nil, err
	}
	if c.Sleep == nil {
		c.Sleep = sleepFor
	}
	if c.ResumeCheckTimeout == 0 {
		c.ResumeCheckTimeout = resumeCheckTimeout
	}
	return &Service{
		db: c.DB.Bun, pool: c.DB.Pool, queue: c.Queue, jobs: c.Jobs, files: c.Files, keys: c.Keys, cursorKeys: cursorKeys,
		history: c.History, development: c.Development, rehearsalClock: c.RehearsalClock, batchRelease: c.BatchRelease, webhooks: c.Webhooks,
		eventsCommitted: make(chan struct{}, 1), releaseSession: newSendSession(c.DB.Pool.Config().ConnConfig), sleep: c.Sleep, resumeCheckTimeout: c.ResumeCheckTimeout,
	}, nil
}

// EventsCommitted receives a value after this process has committed events. It wakes the
// relay of the same process early; events of other processes are found by polling.
func (s *Service) EventsCommitted() <-chan struct{} { return s.eventsCommitted }

// InTx runs one transaction, the only place where one begins. Events, timeline, jobs and
// the idempotency response are written before the commit. A deadlock is retried twice.
func (s *Service) InTx(ctx context.Context, actor Actor, do func(context.Context, *Tx) error) error {
	return s.InTxWithPrelude(ctx, actor, func(*Tx) {}, do)
}

// InTxWithPrelude is InTx with a prelude: statements that prelude queues are sent in one
// round trip with the beginning of the transaction.
func (s *Service) InTxWithPrelude(ctx context.Context, actor Actor, prelude func(*Tx), do func(context.Context, *Tx) error) error {
	return s.retryTx(ctx, &Tx{svc: s, actor: actor}, prelude, do)
}

// retryTx runs a copy of a prepared Tx, and repeats it after a deadlock.
func (s *Service) retryTx(ctx context.Context, prepared *Tx, prelude func(*Tx), do func(context.Context, *Tx) error) error {
	if faults := fieldErrorsFrom(ctx); len(faults) > 0 {
		return Invalid(faults...) // an operation that did not check its input must not act on unparsed members
	}
	for attempt := 0; ; attempt++ {
		tx := *prepared
		err := s.tryTx(ctx, &tx, prelude, do)
		if attempt == 2 || !isRetryable(err) {
			return translateError(err)
		}
	}
}

func (s *Service) tryTx(ctx context.Context, tx *Tx, prelude func(*Tx), do func(context.Context, *Tx) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	ctx = markInTransaction(ctx)
	actor := tx.actor
	tx.Conn, tx.ctx = conn, ctx
	defer tx.rollback(ctx)
	if err := tx.begin(ctx, prelude); err != nil {
		return err
	}
	if err := tx.checkPrecondition(ctx); err != nil {
		return err
	}
	if err := do(ctx, tx); err != nil {
		return err
	}
	tx.writeAudit(actor)
	if err := tx.commit(ctx); err != nil {
		return err
	}
	if len(tx.events) > 0 {
		select {
		case s.eventsCommitted <- struct{}{}:
		default: // reported already
		}
	}
	return nil
}

// businessNowSQL is the body of business_now(), inlined: Postgres plans the body of
// such a function again in every statement that calls it, which would take a third of a
// read.
const businessNowSQL = "clock_timestamp() + (select offset_interval from clock)"

// readClock returns the business time outside a transaction. Use it for reads only.
func (s *Service) readClock(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.pool.QueryRow(ctx, "select "+businessNowSQL, pgx.QueryExecModeCacheStatement).Scan(&now)
	return now, err
}

// MarkForRehearsals marks the database as one for rehearsals. It keeps the clock of an
// earlier run, because records must not lie in the future. Development only.
func (s *Service) MarkForRehearsals(ctx context.Context) error {
	if !s.development {
		return Fail(CodeParameterInvalid, "A database is marked for rehearsals in development only.")
	}
	_, err := s.db.NewRaw("update clock set is_rehearsal = true").Exec(ctx)
	return err
}

// ShiftClock shifts business time relative to the database's clock and marks the
// database as one for rehearsals. Development only: tests use it to let a year pass.
func (s *Service) ShiftClock(ctx context.Context, shift time.Duration) error {
	if !s.development {
		return Fail(CodeParameterInvalid, "The clock can be moved in development only.")
	}
	_, err := s.db.NewRaw("update clock set is_rehearsal = true, offset_interval = make_interval(secs => ?)", shift.Seconds()).Exec(ctx)
	return err
}

// IsRehearsal reports whether the database is marked for rehearsals by the development
// stack; its clock may be shifted. Real payments must not depend on it.
func (s *Service) IsRehearsal(ctx context.Context) (bool, error) {
	var marked bool
	err := s.db.NewRaw("select is_rehearsal or offset_interval <> interval '0' from clock").Scan(ctx, &marked)
	return marked, translateError(err)
}

// authorize is the first statement of every operation. It checks the scope, and that
// the partner is registered and enabled.
func (s *Service) authorize(ctx context.Context, actor Actor, scope Scope) error {
	if err := actor.RequireScope(scope); err != nil {
		return err
	}
	if actor.Kind != ActorPartner {
		return nil
	}
	return s.partners.requireEnabled(ctx, s.db, actor.Partner)
}

// restrictToTenant restricts a query to rows that the actor may see. Every query over
// partners' records uses it.
func (a Actor) restrictToTenant(q *bun.SelectQuery) *bun.SelectQuery {
	if a.Kind == ActorPartner {
		return q.Where("?TableAlias.partner = ?", a.Partner)
	}
	return q
}

// tenantPredicate returns the tenant condition of a prepared statement whose second argument
// is the tenant. Actors that see everything have a separate statement: one for both
// could use no index.
func (a Actor) tenantPredicate() string {
	if a.Kind == ActorPartner {
		return "?TableAlias.partner = $2"
	}
	return "$2::text is null"
}

// tenantArg returns that argument; nil sees everything.
func (a Actor) tenantArg() *string {
	if a.Kind == ActorPartner {
		return &a.Partner
	}
	return nil
}

func isRetryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001")
}

func isNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) } // also matches pgx.ErrNoRows
