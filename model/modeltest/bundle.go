package modeltest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"parapet/internal/filestore"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/seal"
	"parapet/model/receipts/receipt"
)

// Bundle is the domain layer on a database of the test's own, with the actors of the
// tests. Its helpers fail the test on an error.
type Bundle struct {
	Service *model.Service
	DB      *dbpool.Database
	URL     string // of the database, for other processes
	Files   string // folder of the attachments
	Rail    *Rail

	Acme     actor.Actor // a partner with every scope
	Globex   actor.Actor // a second partner
	Operator actor.Actor
	Source   actor.Actor // may post observations of every source

	t     testing.TB
	ctx   context.Context //nolint:containedctx // a bundle lives exactly as long as its test
	actor actor.Actor
	shift *time.Duration
}

// Option configures New.
type Option func(*options)

type options struct {
	size            int32
	production      bool
	withoutChecks   bool
	server          string
	shippedProducts bool
	fixedClock      bool

	resumeCheck time.Duration

	sleep func(context.Context, time.Duration) error
}

// WithConnections sets the size of the pool, 8 by default.
func WithConnections(size int32) Option { return func(o *options) { o.size = size } }

// InProduction configures a service that refuses rehearsals.
func InProduction() Option { return func(o *options) { o.production = true } }

// WithoutChecks omits the checks at the end, for tests that write rows by hand.
func WithoutChecks() Option { return func(o *options) { o.withoutChecks = true } }

// WithShippedProducts keeps the products as shipped, with their waiting periods.
func WithShippedProducts() Option { return func(o *options) { o.shippedProducts = true } }

// FixedClock keeps the business clock unchanged when days are rehearsed.
func FixedClock() Option { return func(o *options) { o.fixedClock = true } }

// WithSleep sets the function that waits between two polls of running sends during a
// stop.
func WithSleep(pause func(context.Context, time.Duration) error) Option {
	return func(o *options) { o.sleep = pause }
}

// ResumeCheckTimeout is how long ResumeReleases waits for its check in tests, so that tests do
// not depend on the machine's speed.
const ResumeCheckTimeout = time.Minute

// WithResumeCheck sets how long ResumeReleases waits for its check.
func WithResumeCheck(limit time.Duration) Option { return func(o *options) { o.resumeCheck = limit } }

// OnServer creates the bundle on a server of the test's own, which it may restart;
// address is that of an empty database.
func OnServer(address string) Option { return func(o *options) { o.server = address } }

// New creates a bundle. It checks the database when the test ends: see CheckInvariants.
func New(t testing.TB, with ...Option) *Bundle {
	t.Helper()
	o := newOptions(with)
	db, url := o.openDatabase(t)
	b := o.newBundle(t, db, url)
	if o.shippedProducts {
		_, err := db.Pool.Exec(t.Context(), "delete from products where version = $1", noWaitingVersion)
		require.NoError(t, err)
	}
	return b
}

func newOptions(with []Option) options {
	o := options{size: 8, resumeCheck: ResumeCheckTimeout}
	for _, option := range with {
		option(&o)
	}
	return o
}

// newBundle returns a bundle on an open database.
func (o options) newBundle(t testing.TB, db *dbpool.Database, url string) *Bundle {
	t.Helper()
	folder := t.TempDir()
	files, err := filestore.OpenFolder(folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	service, err := model.New(model.Config{DB: db, Queue: Queue{}, Files: files, Keys: Keys(), Receipt: ReceiptKeys(), Development: !o.production, RehearsalClock: !o.fixedClock, Sleep: o.sleep, ResumeCheckTimeout: o.resumeCheck})
	require.NoError(t, err)
	b := &Bundle{
		Service: service, DB: db, URL: url, Files: folder, Rail: &Rail{},
		Acme: Partner("acme"), Globex: Partner("globex"), Operator: Operator(), Source: Source(),
		t: t, ctx: context.WithoutCancel(t.Context()), shift: new(time.Duration),
	}
	b.actor = b.Acme
	if !o.withoutChecks {
		t.Cleanup(b.CheckInvariants)
	}
	return b
}

func (o options) openDatabase(t testing.TB) (*dbpool.Database, string) {
	t.Helper()
	if o.server == "" {
		return Database(t, o.size)
	}
	require.NoError(t, seedDatabase(t.Context(), o.server))
	db, err := dbpool.Open(t.Context(), o.server, o.size)
	require.NoError(t, err)
	t.Cleanup(func() { closeDatabase(t, db, closeTimeout) })
	return db, o.server
}

// ActingAs returns the same bundle with another acting partner.
func (b *Bundle) ActingAs(actor actor.Actor) *Bundle {
	other := *b
	other.actor = actor
	return &other
}

// Partner returns an actor for a partner with every scope a partner may have.
func Partner(slug string) actor.Actor {
	return actor.Actor{Kind: actor.KindPartner, Partner: slug, Name: slug + "-client", Client: slug + "-client", Scopes: actor.PartnerScopes()}
}

// Operator returns an operator of Parapet.
func Operator() actor.Actor {
	return actor.Actor{Kind: actor.KindOperator, Name: "olive", Issuer: Issuer, Client: "console", Scopes: []actor.Scope{actor.ScopeOperator}}
}

// Issuer is the token issuer of operators and sources.
const Issuer = "https://id.parapet.test"

// Source returns an actor that may post observations of every source.
func Source() actor.Actor {
	return actor.Actor{Kind: actor.KindSource, Name: "feeds", Issuer: Issuer, Client: "feeds", Scopes: []actor.Scope{actor.ScopeObservationsWrite}, AnySource: true}
}

// Keys returns the keys of every service in the tests.
func Keys() seal.Keys {
	return seal.Keys{
		Seal:        []seal.Key{{ID: "test", Secret: []byte("0123456789abcdef0123456789abcdef")}},
		Fingerprint: []byte("fingerprint-key-of-the-tests-0123"),
	}
}

// ReceiptKeys returns the keys of receipts of the tests.
func ReceiptKeys() receipt.Keys { return receipt.NewKeys([]byte("receipt-key-of-the-tests-0123456")) }

// Now returns the business time.
func (b *Bundle) Now() time.Time {
	b.t.Helper()
	var now time.Time
	require.NoError(b.t, b.DB.Pool.QueryRow(b.ctx, "select business_now()").Scan(&now))
	return now.UTC()
}

// AdvanceClock moves business time forward. Events committed before are numbered first.
func (b *Bundle) AdvanceClock(d time.Duration) {
	b.t.Helper()
	b.Relay()
	*b.shift += d
	require.NoError(b.t, b.Service.ShiftClock(b.ctx, *b.shift))
}

// Sweep performs all due work.
func (b *Bundle) Sweep() {
	b.t.Helper()
	require.NoError(b.t, b.Service.Operations.Sweep(b.ctx))
}

// CountRows counts the rows of every table, except those of the queue, of matching's
// work and of the clock, the evidence of the checklist, and those that time alone creates.
func (b *Bundle) CountRows() map[string]int {
	b.t.Helper()
	var tables []string
	require.NoError(b.t, b.DB.Bun.NewRaw(`select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition and c.relname not in ('modeltest_jobs', 'clock', 'invariant_checks', 'rail_report_days', 'event_checkpoints', 'database_identity', 'matching_slices', 'period_ends', 'sandbox_checks') order by 1`).Scan(b.ctx, &tables))
	rows := make(map[string]int, len(tables))
	for _, table := range tables {
		var n int
		require.NoError(b.t, b.DB.Bun.NewRaw("select count(*) from ?", bun.Ident(table)).Scan(b.ctx, &n))
		rows[table] = n
	}
	return rows
}
