package jobs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"go.jetify.com/typeid"
	"golang.org/x/sync/errgroup"

	"parapet/jobs/fetch"
	"parapet/jobs/rail"
	"parapet/model"
	"parapet/model/account"
	"parapet/model/hazard"
	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/seal"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/wire"
)

func TestMain(m *testing.M) {
	if point := os.Getenv(dieAt); point != "" {
		fmt.Fprintln(os.Stderr, dyingWorker(context.Background(), releaseStep(point)))
		os.Exit(1)
	}
	os.Exit(modeltest.Main(m))
}

// fixture is the domain on its own test database, with the queue, the stores and, once
// started, the workers of production.
type fixture struct {
	*modeltest.Bundle

	t    testing.TB
	pool *pgxpool.Pool
	rail *rail.Simulator
	log  *logBuffer

	sleep func(context.Context, time.Duration) error // waits between two polls of running sends during a stop; nil uses the real clock

	attemptTimeout time.Duration // of one attempt to deliver; webhook.Timeout when 0
}

// waitFunc is how a simulator waits; see rail.WithWait.
type waitFunc = func(context.Context, time.Duration) error

// noWait returns at once.
func noWait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func newFixture(t testing.TB) *fixture {
	t.Helper()
	return newFixtureWith(t, noWait)
}

func newFixtureWith(t testing.TB, pause waitFunc, with ...modeltest.Option) *fixture {
	t.Helper()
	s := &fixture{Bundle: modeltest.New(t, with...), t: t, log: &logBuffer{}}
	config, err := pgxpool.ParseConfig(s.URL)
	require.NoError(t, err)
	config.MaxConns = 8
	s.pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(s.pool.Close)
	t.Cleanup(s.logWorkerOutput)
	s.resetService(false)
	s.rail = rail.NewSimulator(NewSimulatorStore(s.pool), rail.WithWait(pause))
	return s
}

// resetService creates the domain for a BatchRail or for another rail.
func (s *fixture) resetService(batches bool) {
	s.t.Helper()
	var err error
	s.Service, err = newService(s.DB, s.pool, batches, s.sleep)
	require.NoError(s.t, err)
}

// newService returns the domain with the queue of production.
func newService(db *dbpool.Database, pool *pgxpool.Pool, batches bool, pause func(context.Context, time.Duration) error) (*model.Service, error) {
	queue, err := NewQueue(pool)
	if err != nil {
		return nil, err
	}
	return model.New(model.Config{
		DB: db, Queue: queue, Jobs: queue.NewJobAdmin(pool), Development: true, BatchRelease: batches, Sleep: pause, ResumeCheckTimeout: modeltest.ResumeCheckTimeout,
		Keys: seal.Keys{
			Seal:        []seal.Key{{ID: "jobs", Secret: []byte("0123456789abcdef0123456789abcdef")}},
			Fingerprint: []byte("fingerprint-key-of-the-tests-0123"),
		},
	})
}

// logWorkerOutput logs the workers' output of a failed test.
func (s *fixture) logWorkerOutput() {
	if s.t.Failed() {
		s.t.Log(s.log.String())
	}
}

// startWorkers runs the workers until the test ends.
func (s *fixture) startWorkers(feeds ...Feed) *Workers {
	s.t.Helper()
	return s.startWorkersWith(s.rail, feeds...)
}

// startWorkersWith is startWorkers with another rail.
func (s *fixture) startWorkersWith(by rail.Rail, feeds ...Feed) *Workers {
	s.t.Helper()
	workers, err := NewWorkers(Config{
		Pool: s.pool, Service: s.Service, Rail: by, Feeds: feeds, Fetch: &fetch.Fetcher{},
		Sender: s.newSender(), Log: s.newLogger(),
	})
	require.NoError(s.t, err)
	require.NoError(s.t, workers.Start(context.WithoutCancel(s.t.Context())))
	s.t.Cleanup(func() { require.NoError(s.t, workers.Stop(context.WithoutCancel(s.t.Context()))) })
	return workers
}

func (s *fixture) newLogger() *slog.Logger { return slog.New(slog.NewJSONHandler(s.log, nil)) }

// requireEventually waits for an effect of the workers.
func (s *fixture) requireEventually(done func() bool, says string) {
	s.t.Helper()
	require.Eventually(s.t, done, 45*time.Second, 20*time.Millisecond, says)
}

// waitUntilIdle waits until only periodic work is left.
func (s *fixture) waitUntilIdle() {
	s.t.Helper()
	s.requireEventually(func() bool { return s.countRows("river.river_job where kind <> 'sweep' and finalized_at is null") == 0 }, "the queue runs empty")
}

// advanceJobs moves the domain's clock by d and makes the jobs due by then run.
func (s *fixture) advanceJobs(d time.Duration) {
	s.t.Helper()
	s.AdvanceClock(d)
	s.requireEventually(func() bool {
		tag, err := s.pool.Exec(s.t.Context(), "update river.river_job set state = 'available', scheduled_at = now() where state in ('scheduled', 'available') and scheduled_at > now()")
		return err == nil && tag.RowsAffected() > 0
	}, "a job waits")
}

func (s *fixture) countRows(from string, args ...any) (n int) {
	s.t.Helper()
	require.NoError(s.t, s.pool.QueryRow(s.t.Context(), "select count(*) from "+from, args...).Scan(&n))
	return n
}

func (s *fixture) execSQL(sql string, args ...any) {
	s.t.Helper()
	_, err := s.pool.Exec(s.t.Context(), sql, args...)
	require.NoError(s.t, err)
}

// countTransfers counts the rail's transfers.
func (s *fixture) countTransfers(payout string, outcome rail.Outcome) int {
	s.t.Helper()
	return s.countRows("simulator_transfers where transfer->>'payout_id' = $1 and transfer->>'outcome' = $2", payout, string(outcome))
}

// epicentre is the place of the M 6.4 of 6 February 2018, 22 km from the default centre
// of quake-circle.
var epicentre = hazard.Point{Latitude: 24.174, Longitude: 121.653}

// createClaim creates a decided claim without workers, so that the test controls when the
// payout is worked.
func (s *fixture) createClaim() *wire.Claim {
	s.t.Helper()
	policy := s.QuoteAndBind("quake-circle", nil)
	quake, _, err := s.Service.Occurrences.RecordObservation(s.t.Context(), s.Source, modeltest.Quake("us1000chhc", s.Now(), epicentre, "6.4"), false)
	require.NoError(s.t, err)
	require.NoError(s.t, s.Service.Adjudication.Evaluate(s.t.Context(), occurrence.EvaluateOccurrences{Occurrences: []string{*quake.OccurrenceID}}))
	return s.OnlyClaim(policy)
}

// createPendingPayout returns a payout that is ready for release to a verified account.
func (s *fixture) createPendingPayout(number account.Number) (claim string, job payouts.ReleasePayout) {
	s.t.Helper()
	claim = s.createClaim().ID
	in := modeltest.IBANMethod(claim)
	in.Number = number
	method := s.RecordPayoutMethod(in)
	check := &verifyPayoutMethod{service: s.Service, rail: s.rail}
	require.NoError(s.t, check.Work(s.t.Context(), &river.Job[payouts.VerifyPayoutMethod]{Args: payouts.VerifyPayoutMethod{Partner: "acme", ID: method.ID}}))
	payout := s.onlyPayout(claim)
	require.Equal(s.t, "pending", payout.Status)
	return claim, payouts.ReleasePayout{Partner: "acme", ID: payout.ID}
}

// onlyPayout returns a claim's only payout.
func (s *fixture) onlyPayout(claim string) wire.Payout {
	s.t.Helper()
	payouts := s.Claim(claim).Payouts
	require.Len(s.t, payouts, 1)
	return payouts[0]
}

// waitForPayoutStatus waits for the status of a claim's only payout.
func (s *fixture) waitForPayoutStatus(claim, status string) wire.Payout {
	s.t.Helper()
	s.requireEventually(func() bool { return s.onlyPayout(claim).Status == status }, "the payout becomes "+status)
	return s.onlyPayout(claim)
}

// runRelease runs the release job of a payout once.
func (s *fixture) runRelease(job payouts.ReleasePayout) error {
	return s.runReleaseWith(s.rail, job)
}

// runReleaseWith runs the release job of a payout once with any rail.
func (s *fixture) runReleaseWith(by rail.Rail, job payouts.ReleasePayout) error {
	worker := &releasePayout{service: s.Service, rail: by, log: s.newLogger()}
	return worker.Work(s.t.Context(), &river.Job[payouts.ReleasePayout]{Args: job})
}

// readPayout returns a payout as its partner reads it.
func (s *fixture) readPayout(job payouts.ReleasePayout) *wire.Payout {
	s.t.Helper()
	payout, err := s.Service.Claims.GetPayout(s.t.Context(), s.Acme, job.ID)
	require.NoError(s.t, err)
	return payout
}

// createPendingPayouts returns n payouts of n claims, ready for release.
func (s *fixture) createPendingPayouts(n int) []payouts.ReleasePayout {
	s.t.Helper()
	return s.createPendingPayoutsOf(n, 0)
}

// createPendingPayoutsOf returns payouts of acme and of globex, ready for release; those
// of globex come last.
func (s *fixture) createPendingPayoutsOf(acme, globex int) []payouts.ReleasePayout {
	s.t.Helper()
	check := &verifyPayoutMethod{service: s.Service, rail: s.rail}
	var all errgroup.Group
	all.SetLimit(4)
	for i := range acme + globex {
		partner, as := "acme", s.Bundle
		if i >= acme {
			partner, as = "globex", s.ActingAs(s.Globex)
		}
		all.Go(func() error {
			method := as.RecordPayoutMethod(modeltest.PolicyIBANMethod(as.QuoteAndBind("quake-circle", nil).ID))
			return check.Work(s.t.Context(), &river.Job[payouts.VerifyPayoutMethod]{Args: payouts.VerifyPayoutMethod{Partner: partner, ID: method.ID}})
		})
	}
	require.NoError(s.t, all.Wait())
	quake, _, err := s.Service.Occurrences.RecordObservation(s.t.Context(), s.Source, modeltest.Quake("us1000chhc", s.Now(), epicentre, "6.4"), false)
	require.NoError(s.t, err)
	require.NoError(s.t, s.Service.Adjudication.Evaluate(s.t.Context(), occurrence.EvaluateOccurrences{Occurrences: []string{*quake.OccurrenceID}}))
	for more := true; more; {
		more, err = s.Service.Adjudication.DecideSlices(s.t.Context())
		require.NoError(s.t, err)
	}
	fleet := s.queuedJobs()
	require.Len(s.t, fleet, acme+globex)
	return fleet
}

// queuedJobs release every payout, the oldest of each partner first.
func (s *fixture) queuedJobs() []payouts.ReleasePayout {
	s.t.Helper()
	rows, err := s.pool.Query(s.t.Context(), "select partner, id from payouts order by partner, id")
	require.NoError(s.t, err)
	fleet, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (job payouts.ReleasePayout, err error) {
		var id uuid.UUID
		if err := row.Scan(&job.Partner, &id); err != nil {
			return job, err
		}
		text, err := typeid.FromUUIDBytesWithPrefix("pay", id[:])
		job.ID = text.String()
		return job, err
	})
	require.NoError(s.t, err)
	return fleet
}

// wrappedRail is a rail with some answers of a test; the inner rail returns the others.
type wrappedRail struct {
	rail.Rail

	able    *rail.Capabilities
	send    func(context.Context, rail.Instruction) rail.Result
	inquire func(context.Context, string) rail.Result
	void    func(context.Context, string) rail.Result
}

func (a *wrappedRail) Capabilities() rail.Capabilities {
	if a.able == nil {
		return a.Rail.Capabilities()
	}
	return *a.able
}

func (a *wrappedRail) Send(ctx context.Context, i rail.Instruction) rail.Result {
	if a.send == nil {
		return a.Rail.Send(ctx, i)
	}
	return a.send(ctx, i)
}

func (a *wrappedRail) Inquire(ctx context.Context, key string) rail.Result {
	if a.inquire == nil {
		return a.Rail.Inquire(ctx, key)
	}
	return a.inquire(ctx, key)
}

func (a *wrappedRail) Void(ctx context.Context, key string) rail.Result {
	if a.void == nil {
		return a.Rail.Void(ctx, key)
	}
	return a.void(ctx, key)
}

// number returns a test account number as a partner records it.
func number(test rail.TestNumber) account.Number {
	switch test.Type {
	case account.TypeIBAN:
		return account.Number{Type: test.Type, IBAN: &account.IBAN{IBAN: test.Number}}
	case account.TypeUSBankAccount:
		return account.Number{Type: test.Type, USBankAccount: &account.USBankAccount{
			RoutingNumber: "021000021", AccountNumber: test.Number, AccountType: account.Checking,
		}}
	case account.TypeMobileMoney:
		return account.Number{Type: test.Type, MobileMoney: &account.MobileMoney{MSISDN: test.Number, Provider: "mpesa"}}
	default:
		panic(fmt.Sprintf("no such type: %s", test.Type))
	}
}

// numberFor returns the first test number with this behaviour.
func numberFor(behaviour rail.Behaviour) account.Number {
	for _, test := range rail.TestNumbers() {
		if test.Behaviour == behaviour {
			return number(test)
		}
	}
	panic(behaviour)
}

// logBuffer is a log for concurrent writers and one reader.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *logBuffer) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *logBuffer) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
