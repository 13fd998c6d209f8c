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

// Config is what the domain layer stands on.
type Config struct {
	DB      *Database
	Queue   Queue           // takes the jobs a change asks for
	Jobs    JobDesk         // shows the queue to operators; nil shows none
	Files   Files           // keeps attachments
	Keys    Keys            // seal bank details, cursors and fingerprints
	History *hazard.History // prices cover; nil means the shipped one
	// Development allows rehearsals that a production server must refuse:
	// sandbox observations and replayed history.
	Development bool
	// RehearsalClock lets days that a partner rehearses at a station move the business
	// clock, which is the same for all partners.
	RehearsalClock bool
	Webhooks       Webhooks
	// Pause lets time pass between two looks at what is leaving; nil waits.
	Pause func(context.Context, time.Duration) error
	// ResumeCheckTimeout is how long ResumeReleases waits for the check of the invariants
	// before it leaves the check to the run; zero is two seconds.
	ResumeCheckTimeout time.Duration
	// Slices says that the rail takes payouts in slices: ReleaseSlice is asked for
	// instead of ReleasePayout for each.
	Slices bool
}

// Webhooks are the rules of sending events to partners' endpoints.
type Webhooks struct {
	// Refuse says what is wrong with an address as a target, empty when nothing is;
	// nil takes every address.
	Refuse func(*url.URL) string
	// Haste divides the waits between attempts, for rehearsals; 0 and 1 leave them.
	Haste int
}

func (w Webhooks) hasten(wait time.Duration) time.Duration {
	return wait / time.Duration(max(1, w.Haste))
}

// Service is the domain: every operation of both doors, the jobs and the
// command line is a method on it. Operations return *Error for everything a
// caller can act on; any other error is internal.
type Service struct {
	db             *bun.DB
	pool           *pgxpool.Pool // for prepared statements
	queue          Queue
	jobs           JobDesk
	files          Files
	keys           Keys
	cursorKeys     Keys
	history        *hazard.History
	development    bool
	rehearsalClock bool
	slices         bool
	catalog        catalog
	partners       partnerCache
	feeds          freshCache[feedGenerations]
	texts          texts
	numbered       bell
	webhooks       Webhooks
	refusals       refusals
	committed      chan struct{}
	rails          sync.Map // identities that were registered, by RailIdentity
	sends          *sendSession
	pause          func(context.Context, time.Duration) error

	resumeCheckTimeout time.Duration

	relays atomic.Bool // the last pass of the relay, in this process, had something to do
}

// New makes the domain layer. It does not touch the database.
func New(c Config) (*Service, error) {
	if err := c.Keys.Check(); err != nil {
		return nil, err
	}
	if c.Webhooks.Refuse == nil {
		c.Webhooks.Refuse = func(*url.URL) string { return "" }
	}
	if c.History == nil {
		c.History = hazard.Shipped()
	}
	cursorKeys, err := c.Keys.forCursors()
	if err != nil {
		return nil, err
	}
	if c.Pause == nil {
		c.Pause = waitFor
	}
	if c.ResumeCheckTimeout == 0 {
		c.ResumeCheckTimeout = resumeCheckTimeout
	}
	return &Service{
		db: c.DB.Bun, pool: c.DB.Pool, queue: c.Queue, jobs: c.Jobs, files: c.Files, keys: c.Keys, cursorKeys: cursorKeys,
		history: c.History, development: c.Development, rehearsalClock: c.RehearsalClock, slices: c.Slices, webhooks: c.Webhooks,
		committed: make(chan struct{}, 1), sends: newSendSession(c.DB.Pool.Config().ConnConfig), pause: c.Pause, resumeCheckTimeout: c.ResumeCheckTimeout,
	}, nil
}

// Committed says, to one who listens, that this process has committed events since it
// last said so. It saves the relay beside it the wait until it looks again, no more:
// what another process commits is not heard.
func (s *Service) Committed() <-chan struct{} { return s.committed }

// change runs one transaction: the only place where one begins. What do
// recorded (events, timeline, jobs, the idempotency key) is flushed before the
// commit, so it is told if and only if it happened. A deadlock, which Postgres
// resolves by ending one side, retries the whole unit twice.
func (s *Service) change(ctx context.Context, actor Actor, do func(context.Context, *unit) error) error {
	return s.changeAsking(ctx, actor, func(*unit) {}, do)
}

// changeAsking is change whose first statements, which ask queues, go out in one
// round trip with the beginning.
func (s *Service) changeAsking(ctx context.Context, actor Actor, ask func(*unit), do func(context.Context, *unit) error) error {
	return s.runTx(ctx, &unit{svc: s, actor: actor}, ask, do)
}

// runTx runs a copy of a prepared unit, and again after a deadlock.
func (s *Service) runTx(ctx context.Context, prepared *unit, ask func(*unit), do func(context.Context, *unit) error) error {
	if faults := faultsIn(ctx); len(faults) > 0 {
		return Invalid(faults...) // an operation that did not look must not act on what was not read
	}
	for attempt := 0; ; attempt++ {
		u := *prepared
		err := s.attempt(ctx, &u, ask, do)
		if attempt == 2 || !retryable(err) {
			return explain(err)
		}
	}
}

func (s *Service) attempt(ctx context.Context, u *unit, ask func(*unit), do func(context.Context, *unit) error) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	ctx = inTransaction(ctx)
	actor := u.actor
	u.Conn, u.ctx = conn, ctx
	defer u.abandon(ctx)
	if err := u.begin(ctx, ask); err != nil {
		return err
	}
	if err := u.fulfilled(ctx); err != nil {
		return err
	}
	if err := do(ctx, u); err != nil {
		return err
	}
	u.audited(actor)
	if err := u.commit(ctx); err != nil {
		return err
	}
	if len(u.events) > 0 {
		select {
		case s.committed <- struct{}{}:
		default: // said already
		}
	}
	return nil
}

// businessNow is what business_now() says, spelled out: Postgres plans the body of
// such a function anew in every statement that calls it, which would be a third of
// a read.
const businessNow = "clock_timestamp() + (select shift from clock)"

// now is the business time outside a transaction: good for reading, never for
// writing.
func (s *Service) now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.pool.QueryRow(ctx, "select "+businessNow, pgx.QueryExecModeCacheStatement).Scan(&now)
	return now, err
}

// MarkForRehearsals marks the database as one for rehearsals. The clock stays where an
// earlier run left it, because records must not lie in the future. Development only.
func (s *Service) MarkForRehearsals(ctx context.Context) error {
	if !s.development {
		return Fail(CodeParameterInvalid, "A database is marked for rehearsals in development only.")
	}
	_, err := s.db.NewRaw("update clock set rehearsal = true").Exec(ctx)
	return err
}

// ShiftClock moves business time against the database's clock and marks the
// database as one for rehearsals. Development only: it is how a year passes in a
// test.
func (s *Service) ShiftClock(ctx context.Context, shift time.Duration) error {
	if !s.development {
		return Fail(CodeParameterInvalid, "The clock can be moved in development only.")
	}
	_, err := s.db.NewRaw("update clock set rehearsal = true, shift = make_interval(secs => ?)", shift.Seconds()).Exec(ctx)
	return err
}

// Rehearses tells whether the database is one for rehearsals: marked by the
// development stack, its clock possibly shifted. Nobody's real money may depend
// on it.
func (s *Service) Rehearses(ctx context.Context) (bool, error) {
	var marked bool
	err := s.db.NewRaw("select rehearsal or shift <> interval '0' from clock").Scan(ctx, &marked)
	return marked, explain(err)
}

// authorize is the first line of every operation: the scope, and a partner that
// is registered and enabled.
func (s *Service) authorize(ctx context.Context, actor Actor, scope Scope) error {
	if err := actor.May(scope); err != nil {
		return err
	}
	if actor.Kind != ActorPartner {
		return nil
	}
	return s.partners.enabled(ctx, s.db, actor.Partner)
}

// tenancy narrows a query to what the actor may see. Every query over partners'
// records goes through it.
func (a Actor) tenancy(q *bun.SelectQuery) *bun.SelectQuery {
	if a.Kind == ActorPartner {
		return q.Where("?TableAlias.partner = ?", a.Partner)
	}
	return q
}

// seen is tenancy in a prepared statement whose second argument is the tenant. Who
// sees everything has a statement of their own: one for both could use no index.
func (a Actor) seen() string {
	if a.Kind == ActorPartner {
		return "?TableAlias.partner = $2"
	}
	return "$2::text is null"
}

// tenant is that argument: nil sees everything.
func (a Actor) tenant() *string {
	if a.Kind == ActorPartner {
		return &a.Partner
	}
	return nil
}

func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001")
}

func absent(err error) bool { return errors.Is(err, sql.ErrNoRows) } // pgx.ErrNoRows is one
