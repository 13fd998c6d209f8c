package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"

	"parapet/model/dbconn"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/groupcommit"
	"parapet/model/kernel/optimistic"
	"parapet/model/kernel/pacing"
	"parapet/model/kernel/replica"
	"parapet/model/kernel/rowscan"
	"parapet/model/kernel/seal"
)

// Store is the database as all subdomains use it: transactions, prepared statements,
// lists, sealed columns and the queue of jobs. It is safe for concurrent use.
type Store struct {
	DB          *bun.DB
	Pool        *pgxpool.Pool // for prepared statements
	replicas    *replica.Set
	queue       JobQueue
	Keys        seal.Keys
	cursorKeys  seal.Keys
	Statements  rowscan.StatementCache
	committed   chan struct{}
	Files       FileStore
	Development bool // rehearsals are allowed; a production server refuses them
	hooks       Hooks
	locals      sync.Map // reflect.Type → *T, see Local
	Bulk        pacing.BulkGate
	groups      groupcommit.Queue[*groupedCall]
	memory      optimistic.Memory
}

// Config holds what a store works with.
type Config struct {
	DB          *dbpool.Database
	Queue       JobQueue
	Files       FileStore
	Keys        seal.Keys
	Development bool // allows rehearsals, which a production server must refuse
	Hooks       Hooks
}

// FileStore stores attachments under opaque keys. An object is complete or absent: Put
// stores all bytes or none.
type FileStore interface {
	// Put stores the content of r under key.
	Put(ctx context.Context, key string, r io.Reader) error
	// Open opens an object at its beginning. The caller closes it.
	Open(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes an object and the remains of an interrupted Put; a missing object is
	// no error.
	Delete(ctx context.Context, key string) error
}

// New returns a store. It does not connect to the database.
func New(c Config) (*Store, error) {
	if err := c.Keys.Check(); err != nil {
		return nil, err
	}
	cursorKeys, err := c.Keys.DeriveCursorKeys()
	if err != nil {
		return nil, err
	}
	s := &Store{
		DB: c.DB.Bun, Pool: c.DB.Pool, replicas: c.DB.Replicas, queue: c.Queue, Files: c.Files, Keys: c.Keys, cursorKeys: cursorKeys, Development: c.Development,
		committed: make(chan struct{}, 1), hooks: c.Hooks,
	}
	s.groups.Parallel, s.groups.MaxSize, s.groups.Run = runtime.GOMAXPROCS(0), groupcommit.DefaultSize, s.runGroup
	return s, nil
}

// Local returns the store's value of a type, which starts as the zero value: a
// subdomain keeps its caches and settings of one database in it.
func Local[T any](s *Store) *T {
	value, found := s.locals.Load(reflect.TypeFor[T]())
	if !found {
		value, _ = s.locals.LoadOrStore(reflect.TypeFor[T](), new(T))
	}
	return value.(*T) //nolint:forcetypeassert // the key is the type
}

// Hooks are the questions that a transaction asks subdomains. They are set once,
// before the first transaction.
type Hooks struct {
	// RequirePartner returns partner_disabled unless the partner is registered and
	// enabled.
	RequirePartner func(ctx context.Context, s *Store, partner string) error
	// LockRecord locks the record that a precondition names and everything in its
	// representation, and returns the v1 record as the caller sees it.
	LockRecord func(ctx context.Context, tx *Tx, id string) (any, error)
}

// EventsCommitted receives a value after this process has committed events. It wakes the
// relay of the same process early; events of other processes are found by polling.
func (s *Store) EventsCommitted() <-chan struct{} { return s.committed }

// InTx runs one transaction, the only place where one begins. Events, timeline, jobs and
// the idempotency response are written before the commit. A deadlock is retried twice.
func (s *Store) InTx(ctx context.Context, actor actor.Actor, do func(context.Context, *Tx) error) error {
	return s.InTxWithPrelude(ctx, actor, func(*Tx) {}, do)
}

// InTxWithPrelude is InTx with a prelude: statements that prelude queues are sent in one
// round trip with the beginning of the transaction.
func (s *Store) InTxWithPrelude(ctx context.Context, actor actor.Actor, prelude func(*Tx), do func(context.Context, *Tx) error) error {
	return s.retryTx(ctx, &Tx{Store: s, Actor: actor}, prelude, do)
}

// retryTx runs a copy of a prepared Tx, and repeats it after a deadlock, or on a new
// connection after a migration.
func (s *Store) retryTx(ctx context.Context, prepared *Tx, prelude func(*Tx), do func(context.Context, *Tx) error) error {
	if faults := apperr.FieldErrorsFrom(ctx); len(faults) > 0 {
		return apperr.Invalid(faults...) // an operation that did not check its input must not act on unparsed members
	}
	for attempt := 0; ; attempt++ {
		tx := *prepared
		err := s.tryTx(ctx, &tx, prelude, do)
		if attempt == 2 || !dbconn.IsRetryable(err) {
			return TranslateError(err)
		}
		if dbconn.IsStalePlan(err) {
			s.Pool.Reset() // a prepared statement fails until its connection ends
		}
	}
}

func (s *Store) tryTx(ctx context.Context, tx *Tx, prelude func(*Tx), do func(context.Context, *Tx) error) error {
	actor := tx.Actor
	return onConnection(ctx, tx, func(ctx context.Context, tx *Tx) error {
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
		return tx.commit(ctx)
	})
}

// onConnection takes a connection and calls do, which begins the transaction and commits it.
func onConnection(ctx context.Context, tx *Tx, do func(context.Context, *Tx) error) error {
	conn, err := tx.Store.DB.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	ctx = dbconn.MarkInTransaction(ctx)
	tx.Conn, tx.Ctx = conn, ctx
	defer tx.rollback(ctx)
	if err := tx.Raw(func(driver any) error {
		tx.PgxConn = driver.(*stdlib.Conn).Conn() //nolint:forcetypeassert // bun runs on pgx; see Open
		return nil
	}); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return do(ctx, tx)
}

// BusinessNowSQL is the body of business_now(), inlined: Postgres plans the body of
// such a function again in every statement that calls it, which would take a third of a
// read.
const BusinessNowSQL = "clock_timestamp() + (select offset_interval from clock)"

// ReadClock returns the business time outside a transaction. Use it for reads only.
func (s *Store) ReadClock(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.Pool.QueryRow(ctx, "select "+BusinessNowSQL, pgx.QueryExecModeCacheStatement).Scan(&now)
	return now, err
}

// Authorize is the first statement of every operation. It checks the scope, and that
// the partner is registered and enabled.
func (s *Store) Authorize(ctx context.Context, caller actor.Actor, scope actor.Scope) error {
	if err := caller.RequireScope(scope); err != nil {
		return err
	}
	if caller.Kind != actor.KindPartner {
		return nil
	}
	return s.hooks.RequirePartner(ctx, s, caller.Partner)
}

// RestrictToTenant restricts a query to rows that the actor may see. Every query over
// partners' records uses it.
func RestrictToTenant(a actor.Actor, q *bun.SelectQuery) *bun.SelectQuery {
	if a.Kind == actor.KindPartner {
		return q.Where("?TableAlias.partner = ?", a.Partner)
	}
	return q
}

// TenantPredicate returns the tenant condition of a prepared statement whose second argument
// is the tenant. Actors that see everything have a separate statement: one for both
// could use no index.
func TenantPredicate(a actor.Actor) string {
	if a.Kind == actor.KindPartner {
		return "?TableAlias.partner = $2"
	}
	return "$2::text is null"
}

// TenantArg returns that argument; nil sees everything.
func TenantArg(a actor.Actor) *string {
	if a.Kind == actor.KindPartner {
		return &a.Partner
	}
	return nil
}

// IsNoRows reports whether a query found no row.
func IsNoRows(err error) bool { return errors.Is(err, sql.ErrNoRows) } // also matches pgx.ErrNoRows

// TransactionNowSQL is the business time at the start of the transaction, or of a
// statement outside a transaction. The planner treats it as a constant, unlike
// BusinessNowSQL.
const TransactionNowSQL = "now() + (select offset_interval from clock)"

// BindTx is a transaction that may insert policies. All policies are inserted this way:
// both passes of matching could miss a policy whose start was read from the clock before
// its transaction held BindLock.
type BindTx struct{ *Tx }

// InBindTx is InGroupTx for a transaction that inserts policies.
func (s *Store) InBindTx(ctx context.Context, actor actor.Actor, prelude func(*Tx), do func(context.Context, BindTx) error) error {
	return s.runGrouped(ctx, Tx{Store: s, Actor: actor, holdsBindLock: true}, prelude, func(ctx context.Context, tx *Tx) error {
		return do(ctx, BindTx{tx})
	})
}

// BindLock is a shared lock of every transaction that inserts policies, from before it
// reads the clock until it ends. The number is "bind" in hexadecimal. No transaction
// takes it exclusively, because a waiting exclusive lock would delay every later bind.
const (
	BindLock          int64 = 0x62696e64
	lockBindSharedSQL       = "select pg_advisory_xact_lock_shared($1)"
)
