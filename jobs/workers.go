package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/trace"

	"parapet/jobs/fetch"
	"parapet/jobs/rail"
	"parapet/jobs/webhook"
	"parapet/model"
	"parapet/model/kernel/store"
	"parapet/model/operations"
	"parapet/model/payouts"
)

// The queues. Each has its own workers, so that a long matching never delays a payout.
const (
	queueMatching = "matching"
	queueSlices   = "slices" // a large event delays no small one
	queuePayouts  = "payouts"
	queueAccounts = "account_checks" // a rail that hangs on account checks delays no payout
	queueBatches  = "release_batches"
	queueFeeds    = "feeds"
	queueSweeps   = "sweeps"
	queueRescues  = "rescues" // rescues dead workers' jobs while sweeps take long
	queueChecks   = "checks"
	queueReports  = "reports"
	queueWebhooks = "webhooks"
	queueFailing  = "webhooks_failing" // endpoints that failed lately delay only each other
)

var queues = map[string]river.QueueConfig{
	queueMatching: {MaxWorkers: 4}, queueSlices: {MaxWorkers: 3}, queuePayouts: {MaxWorkers: 32}, queueAccounts: {MaxWorkers: 8}, queueBatches: {MaxWorkers: 3}, queueFeeds: {MaxWorkers: 2}, queueSweeps: {MaxWorkers: 2 * len(operations.DueWorkKinds())}, queueRescues: {MaxWorkers: 1}, queueChecks: {MaxWorkers: 1}, queueReports: {MaxWorkers: 1},
	queueWebhooks: {MaxWorkers: 100}, queueFailing: {MaxWorkers: 20},
}

// jobTimeout bounds one attempt of a job and railTimeout one call to a rail; the
// remaining time is left to record the result of the call. River requeues a job after
// rescueAfter, which must exceed jobTimeout. Jobs of dead workers are requeued sooner,
// see rescueJobs.
const (
	jobTimeout   = 45 * time.Second
	railTimeout  = 20 * time.Second
	fetchTimeout = 20 * time.Second
	rescueAfter  = 60 * time.Second
)

// Priorities of River: lower numbers run first.
const (
	priorityHigh   = 1
	priorityNormal = 2
)

// insertOptions sets the queue, attempts and priority of each kind of job.
var insertOptions = map[string]river.InsertOpts{
	"evaluate_occurrences": {Queue: queueMatching, MaxAttempts: 25},
	// After new events: a second source's report enqueues one for every 400 waiting claims.
	"evaluate_policies": {Queue: queueMatching, MaxAttempts: 25, Priority: priorityNormal},
	// One, because the sweep re-enqueues it within seconds while a slice is due.
	"decide_slices": {Queue: queueSlices, MaxAttempts: 1},
	// Few, because the sweep re-enqueues within a minute while an account is unchecked.
	"verify_payout_method": {Queue: queueAccounts, MaxAttempts: 3},
	"reevaluate_payouts":   {Queue: queueAccounts, MaxAttempts: 25},
	// Few, because the sweep re-enqueues every few seconds while a payout is overdue:
	// jobs that live for weeks would pile up behind a failing one.
	"release_payout":   {Queue: queuePayouts, MaxAttempts: 3, Priority: priorityNormal},
	"release_batch":    {Queue: queueBatches, MaxAttempts: 3},
	"write_files":      {Queue: queueSweeps, MaxAttempts: 1},
	"delete_files":     {Queue: queueSweeps, MaxAttempts: 25},
	"poll_feed":        {Queue: queueFeeds, MaxAttempts: 1},
	"sweep":            {Queue: queueSweeps, MaxAttempts: 1},
	"rescue_jobs":      {Queue: queueRescues, MaxAttempts: 1},
	"check_invariants": {Queue: queueChecks, MaxAttempts: 1},
	"fetch_reports":    {Queue: queueReports, MaxAttempts: 1},
	// One, because a failed delivery run sends no heartbeat and is replaced within
	// seconds.
	"deliver_endpoint": {Queue: queueWebhooks, MaxAttempts: 1},
}

func optionsOf(kind string) *river.InsertOpts {
	opts, ok := insertOptions[kind]
	if !ok {
		panic("jobs: no policy for the kind " + kind) // programming error; a test covers all kinds
	}
	return &opts
}

// Config configures the workers.
type Config struct {
	Pool    *pgxpool.Pool
	Service *model.Service
	Rail    rail.Rail
	// RailRate is the highest number of orders a second that this process sends to a rail
	// by calls; 0: no limit.
	RailRate int
	// FileInterval is how often a file-based rail writes accepted orders.
	FileInterval time.Duration
	Feeds        []Feed         // polled; empty means none
	Fetch        *fetch.Fetcher // reads Feeds
	Sender       *webhook.Sender
	Log          *slog.Logger
	// Tracer records a span for every attempt and every call to the rail, in the trace
	// that enqueued the job; nil records none.
	Tracer trace.Tracer
	// SettleAfter is how long after a payment the simulator reports it on rehearsal servers;
	// 0: the report of its day does.
	SettleAfter time.Duration
	// KeepIndexes leaves the indexes of the queue as they are: the database's role does not
	// own them, so River cannot rebuild them at night. See OwnsTables.
	KeepIndexes bool
	// ObserveJob is called for every attempt with the outcome done, later or failed; nil
	// is allowed.
	ObserveJob func(kind, outcome string, took time.Duration)
}

// Workers run jobs and the background loops until Stop.
type Workers struct {
	client    *river.Client[pgx.Tx]
	loops     backgroundLoops
	rail      payouts.RailIdentity
	heartbeat heartbeatRecorder
	presence  workerPresence
}

// NewWorkers prepares workers; nothing runs before Start. It returns an error for a rail
// that forgets keys too soon.
func NewWorkers(c Config) (*Workers, error) {
	if err := CheckKeyWindow(c.Rail); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(c.Pool), c.riverConfig())
	if err != nil {
		return nil, fmt.Errorf("river workers: %w", err)
	}
	return &Workers{
		client: client, loops: backgroundLoops{service: c.Service, log: c.Log, sandbox: c.newSandboxWorker()}, rail: IdentityOf(c.Rail),
		heartbeat: heartbeatRecorder{service: c.Service, log: c.Log, retry: fileStoreRetry, reports: &fetchReports{service: c.Service, rail: c.Rail, log: c.Log}},
		presence:  workerPresence{c.Pool, client.ID()},
	}, nil
}

func (c Config) riverConfig() *river.Config {
	reindexed := river.ReindexerIndexNamesDefault()
	if c.KeepIndexes {
		reindexed = []string{}
	}
	return &river.Config{
		ReindexerIndexNames: reindexed,
		Schema:              Schema, Logger: slog.New(warningHandler{c.Log.Handler()}), Workers: c.registerWorkers(), PeriodicJobs: c.periodicJobs(), Queues: queues,
		// A fetch takes as many jobs as there are idle workers. FetchCooldown is the
		// minimum time between two fetches; when it exceeds the duration of jobs, it
		// limits throughput.
		FetchPollInterval: 200 * time.Millisecond, FetchCooldown: 10 * time.Millisecond,
		JobTimeout: jobTimeout, RescueStuckJobsAfter: rescueAfter,
		CompletedJobRetentionPeriod: time.Hour, DiscardedJobRetentionPeriod: 24 * time.Hour,
		Middleware:  []rivertype.Middleware{&jobTracer{tracer: c.Tracer}, &jobLogger{log: c.Log, observe: c.ObserveJob}},
		RetryPolicy: &river.DefaultClientRetryPolicy{},
	}
}

func (c Config) registerWorkers() *river.Workers {
	workers := river.NewWorkers()
	addMatchingWorkers(workers, c.Service.Adjudication)
	river.AddWorker(workers, &verifyPayoutMethod{service: c.Service, rail: c.Rail})
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[payouts.ReevaluatePayouts]) error {
		return c.Service.Payouts.Reevaluate(ctx, job.Args)
	}))
	single := &releasePayout{service: c.Service, rail: c.Rail, log: c.Log, tracer: c.Tracer, gate: newRailGate(time.Now), pace: newRailPace(c.RailRate, time.Now)}
	river.AddWorker(workers, single)
	river.AddWorker(workers, &releaseBatch{service: c.Service, rail: c.Rail, log: c.Log, tracer: c.Tracer, single: single})
	river.AddWorker(workers, &writeFiles{service: c.Service, rail: c.Rail})
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[store.DeleteFiles]) error {
		return c.Service.Privacy.DeleteFiles(ctx, job.Args.Keys)
	}))
	river.AddWorker(workers, &deliverEndpoint{service: c.Service, sender: c.Sender})
	river.AddWorker(workers, &pollFeed{service: c.Service, fetch: c.Fetch, feeds: c.Feeds})
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[store.SweepWork]) error {
		return c.Service.Operations.SweepDue(ctx, job.Args.Work)
	}))
	river.AddWorker(workers, &rescueJobs{pool: c.Pool, log: c.Log})
	river.AddWorker(workers, &checkInvariants{service: c.Service})
	river.AddWorker(workers, &fetchReports{service: c.Service, rail: c.Rail, log: c.Log})
	return workers
}

func (c Config) periodicJobs() []*river.PeriodicJob {
	jobs := []*river.PeriodicJob{newPeriodicJob(rescueInterval, RescueJobs{}), newPeriodicJob(checkInterval, CheckInvariants{}), newPeriodicJob(reportInterval, FetchReports{})}
	for _, work := range operations.DueWorkKinds() {
		jobs = append(jobs, newPeriodicJob(operations.SweepInterval(work), store.SweepWork{Work: work}))
	}
	if _, writes := c.Rail.(fileRail); writes {
		jobs = append(jobs, newPeriodicJob(c.FileInterval, WriteFiles{}))
	}
	for _, source := range c.Feeds {
		jobs = append(jobs, newPeriodicJob(source.Interval, source.pollJob()))
	}
	return jobs
}

// newPeriodicJob returns a job that is enqueued at the start and after every period.
func newPeriodicJob(every time.Duration, job river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(every), func() (river.JobArgs, *river.InsertOpts) {
		return job, optionsOf(job.Kind())
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// Start records the first heartbeat and then starts the jobs, which run until Stop. It
// waits for an unusable file store until ctx ends. It logs the name that this process's
// jobs record in attempted_by.
func (w *Workers) Start(ctx context.Context) error {
	if err := w.loops.service.Releases.RegisterRail(ctx, w.rail); err != nil {
		return err
	}
	if err := w.heartbeat.recordBeforeStart(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := w.presence.recordPresence(ctx); err != nil { // before it takes its first job
		return err
	}
	if err := w.client.Start(ctx); err != nil {
		return err
	}
	w.loops.log.InfoContext(ctx, "workers started", "worker", w.client.ID())
	w.loops.startLoops(ctx, w.heartbeat.recordHeartbeat, w.presence.recordPresence)
	return nil
}

// Stop takes no more jobs and waits for the running ones until ctx ends. The relay stops
// last, so that the events of the last jobs are numbered.
func (w *Workers) Stop(ctx context.Context) error {
	defer w.loops.stopLoops()
	return w.client.Stop(ctx)
}

// Enabled accepts warnings and errors only.
func (warningHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

// quietKinds are logged at debug level because they run all the time and log their own
// work.
var quietKinds = map[string]bool{"sweep": true, "rescue_jobs": true, "check_invariants": true, "poll_feed": true, "deliver_endpoint": true}

// jobLogger writes one line per attempt, with all attributes collected during it.
type jobLogger struct {
	river.MiddlewareDefaults

	log     *slog.Logger
	observe func(kind, outcome string, took time.Duration)
}

// Work implements rivertype.WorkerMiddleware.
func (l *jobLogger) Work(ctx context.Context, job *rivertype.JobRow, next func(context.Context) error) error {
	began := time.Now()
	err := next(ctx)
	took := time.Since(began)
	attrs := []any{"kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "took", took}
	outcome := "done"
	var snooze *rivertype.JobSnoozeError
	var ended *rivertype.JobCancelError
	said := err
	if errors.As(err, &ended) {
		said = ended.Unwrap() // without the prefix that River adds
	}
	switch {
	case err == nil && quietKinds[job.Kind]:
		l.log.DebugContext(ctx, "job", attrs...)
	case err == nil:
		l.log.InfoContext(ctx, "job", attrs...)
	case errors.As(err, &snooze):
		outcome = "later"
		l.log.InfoContext(ctx, "job snoozed", append(attrs, "for", snooze.Duration)...)
	default:
		outcome = "failed"
		l.log.ErrorContext(ctx, "job failed", append(attrs, "error", said)...)
	}
	if l.observe != nil {
		l.observe(job.Kind, outcome, took)
	}
	return err
}
