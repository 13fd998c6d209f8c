package model

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"
)

// Store is the database as all subdomains use it: transactions, prepared statements,
// lists, sealed columns and the queue of jobs. It is safe for concurrent use.
type Store struct {
	db              *bun.DB
	pool            *pgxpool.Pool // for prepared statements
	queue           JobQueue
	keys            Keys
	cursorKeys      Keys
	statements      statementCache
	eventsCommitted chan struct{}
	files           FileStore
	development     bool // see Config.Development
	hooks           StoreHooks
	locals          sync.Map // reflect.Type → *T, see storeLocal
}

// StoreConfig holds what a store works with.
type StoreConfig struct {
	DB          *Database
	Queue       JobQueue
	Files       FileStore
	Keys        Keys
	Development bool // see Config.Development
	Hooks       StoreHooks
}

// NewStore returns a store. It does not connect to the database.
func NewStore(c StoreConfig) (*Store, error) {
	if err := c.Keys.Check(); err != nil {
		return nil, err
	}
	cursorKeys, err := c.Keys.deriveCursorKeys()
	if err != nil {
		return nil, err
	}
	return &Store{
		db: c.DB.Bun, pool: c.DB.Pool, queue: c.Queue, files: c.Files, keys: c.Keys, cursorKeys: cursorKeys, development: c.Development,
		eventsCommitted: make(chan struct{}, 1), hooks: c.Hooks,
	}, nil
}

// storeLocal returns the store's value of a type, which starts as the zero value: a
// subdomain keeps its caches and settings of one database in it.
func storeLocal[T any](s *Store) *T {
	value, found := s.locals.Load(reflect.TypeFor[T]())
	if !found {
		value, _ = s.locals.LoadOrStore(reflect.TypeFor[T](), new(T))
	}
	return value.(*T) //nolint:forcetypeassert // the key is the type
}

// StoreHooks are the questions that a transaction asks subdomains. They are set once,
// before the first transaction.
type StoreHooks struct {
	// RequirePartner returns partner_disabled unless the partner is registered and
	// enabled.
	RequirePartner func(ctx context.Context, s *Store, partner string) error
	// LockRecord locks the record that a precondition names and everything in its
	// representation, and returns the v1 record as the caller sees it.
	LockRecord func(ctx context.Context, tx *Tx, id string) (any, error)
}

// EventsCommitted receives a value after this process has committed events. It wakes the
// relay of the same process early; events of other processes are found by polling.
func (s *Store) EventsCommitted() <-chan struct{} { return s.eventsCommitted }

// InTx runs one transaction, the only place where one begins. Events, timeline, jobs and
// the idempotency response are written before the commit. A deadlock is retried twice.
func (s *Store) InTx(ctx context.Context, actor Actor, do func(context.Context, *Tx) error) error {
	return s.InTxWithPrelude(ctx, actor, func(*Tx) {}, do)
}

// InTxWithPrelude is InTx with a prelude: statements that prelude queues are sent in one
// round trip with the beginning of the transaction.
func (s *Store) InTxWithPrelude(ctx context.Context, actor Actor, prelude func(*Tx), do func(context.Context, *Tx) error) error {
	return s.retryTx(ctx, &Tx{store: s, actor: actor}, prelude, do)
}

// retryTx runs a copy of a prepared Tx, and repeats it after a deadlock.
func (s *Store) retryTx(ctx context.Context, prepared *Tx, prelude func(*Tx), do func(context.Context, *Tx) error) error {
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

func (s *Store) tryTx(ctx context.Context, tx *Tx, prelude func(*Tx), do func(context.Context, *Tx) error) error {
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
func (s *Store) readClock(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.pool.QueryRow(ctx, "select "+businessNowSQL, pgx.QueryExecModeCacheStatement).Scan(&now)
	return now, err
}

// authorize is the first statement of every operation. It checks the scope, and that
// the partner is registered and enabled.
func (s *Store) authorize(ctx context.Context, actor Actor, scope Scope) error {
	if err := actor.RequireScope(scope); err != nil {
		return err
	}
	if actor.Kind != ActorPartner {
		return nil
	}
	return s.hooks.RequirePartner(ctx, s, actor.Partner)
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

// transactionNowSQL is the business time at the start of the transaction, or of a
// statement outside a transaction. The planner treats it as a constant, unlike
// businessNowSQL.
const transactionNowSQL = "now() + (select offset_interval from clock)"
