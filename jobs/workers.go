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

	"parapet/jobs/feed"
	"parapet/jobs/rail"
	"parapet/jobs/webhook"
	"parapet/model"
)

// The queues. Each has its own workers, so that a long matching never holds up a
// payout.
const (
	queueMatching = "matching"
	queuePayouts  = "payouts"
	queueAccounts = "accounts" // a rail that hangs when it is asked about accounts holds up no payout
	queueSlices   = "slices"
	queueFeeds    = "feeds"
	queueSweeps   = "sweeps"
	queueRescues  = "rescues" // dead workers' jobs come back however long sweeps take
	queueChecks   = "checks"
	queueReports  = "reports"
	queueWebhooks = "webhooks"
	queueIll      = "webhooks_failing" // endpoints that failed lately wait for each other only
)

var queues = map[string]river.QueueConfig{
	queueMatching: {MaxWorkers: 4}, queuePayouts: {MaxWorkers: 16}, queueAccounts: {MaxWorkers: 8}, queueSlices: {MaxWorkers: 3}, queueFeeds: {MaxWorkers: 2}, queueSweeps: {MaxWorkers: 2 * len(model.DueWorks())}, queueRescues: {MaxWorkers: 1}, queueChecks: {MaxWorkers: 1}, queueReports: {MaxWorkers: 1},
	queueWebhooks: {MaxWorkers: 100}, queueIll: {MaxWorkers: 20},
}

// jobTimeout bounds one attempt of a job and railTimeout one call to a rail. What a
// call outside brought is recorded in the time that is left of the job's. River itself
// brings a job back after rescueAfter, which must be longer than a job may last; those
// of dead workers are back sooner, see rescueJobs.
const (
	jobTimeout   = 45 * time.Second
	railTimeout  = 20 * time.Second
	fetchTimeout = 20 * time.Second
	rescueAfter  = 60 * time.Second
)

// Priorities of River: a lower number is worked first.
const (
	priorityAhead = 1
	priorityUsual = 2
)

// policies is where and how often a kind of job is worked.
var policies = map[string]river.InsertOpts{
	"evaluate_occurrences": {Queue: queueMatching, MaxAttempts: 25},
	"evaluate_policies":    {Queue: queueMatching, MaxAttempts: 25}, // of three weeks in all; the runbook says what to do
	// Few, because the sweep asks again within a minute while an account is unchecked.
	"verify_payout_method": {Queue: queueAccounts, MaxAttempts: 3},
	"reevaluate_payouts":   {Queue: queueAccounts, MaxAttempts: 25},
	// Few, because the sweep asks again every few seconds while a payout is
	// overdue: jobs that live for weeks would pile up behind a broken one.
	"release_payout":   {Queue: queuePayouts, MaxAttempts: 3, Priority: priorityUsual},
	"release_slice":    {Queue: queueSlices, MaxAttempts: 3},
	"write_files":      {Queue: queueSweeps, MaxAttempts: 1},
	"delete_files":     {Queue: queueSweeps, MaxAttempts: 25},
	"poll_feed":        {Queue: queueFeeds, MaxAttempts: 1},
	"sweep":            {Queue: queueSweeps, MaxAttempts: 1},
	"rescue_jobs":      {Queue: queueRescues, MaxAttempts: 1},
	"check_invariants": {Queue: queueChecks, MaxAttempts: 1},
	"fetch_reports":    {Queue: queueReports, MaxAttempts: 1},
	// Once: a drain that failed shows no life and is replaced within seconds.
	"drain_endpoint": {Queue: queueWebhooks, MaxAttempts: 1},
}

func options(kind string) *river.InsertOpts {
	opts, ok := policies[kind]
	if !ok {
		panic("jobs: no policy for the kind " + kind) // a programming error; a test walks all kinds
	}
	return &opts
}

// Config is what the workers need.
type Config struct {
	Pool    *pgxpool.Pool
	Service *model.Service
	Rail    rail.Rail
	// FilesEvery is how often a rail that pays by files writes what it accepted.
	FilesEvery time.Duration
	Feeds      []FeedAddress // polled; empty means none
	Fetch      *feed.Fetcher // reads Feeds
	Sender     *webhook.Sender
	Log        *slog.Logger
	// Tracer makes a span of every attempt and of every call to the rail, in the trace
	// of what asked for the job; nil makes none.
	Tracer trace.Tracer
	// Meter is told of every attempt: done, later or failed; nil tells nobody.
	Meter func(kind, outcome string, took time.Duration)
}

// Workers run jobs, and the relay beside them, until they are stopped.
type Workers struct {
	client    *river.Client[pgx.Tx]
	relay     relay
	rail      model.RailIdentity
	heartbeat heartbeat
	presence  presence
}

// NewWorkers prepares workers; nothing runs before Start. It refuses a rail that
// forgets keys too soon.
func NewWorkers(c Config) (*Workers, error) {
	if err := Trustworthy(c.Rail); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(c.Pool), c.river())
	if err != nil {
		return nil, fmt.Errorf("river workers: %w", err)
	}
	return &Workers{
		client: client, relay: relay{service: c.Service, log: c.Log}, rail: IdentityOf(c.Rail),
		heartbeat: heartbeat{service: c.Service, log: c.Log, retry: fileStoreRetry, reports: &fetchReports{service: c.Service, rail: c.Rail, log: c.Log}},
		presence:  presence{c.Pool, client.ID()},
	}, nil
}

func (c Config) river() *river.Config {
	return &river.Config{
		Schema: Schema, Logger: slog.New(warnings{c.Log.Handler()}), Workers: c.workers(), PeriodicJobs: c.periodic(), Queues: queues,
		// A fetch takes as many jobs as there are idle workers, and the cooldown is the
		// least time between two: longer than jobs last, it is what bounds them.
		FetchPollInterval: 200 * time.Millisecond, FetchCooldown: 10 * time.Millisecond,
		JobTimeout: jobTimeout, RescueStuckJobsAfter: rescueAfter,
		CompletedJobRetentionPeriod: time.Hour, DiscardedJobRetentionPeriod: 24 * time.Hour,
		Middleware:  []rivertype.Middleware{&spans{tracer: c.Tracer}, &logging{log: c.Log, meter: c.Meter}},
		RetryPolicy: &river.DefaultClientRetryPolicy{},
	}
}

func (c Config) workers() *river.Workers {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[model.EvaluateOccurrences]) error {
		return later(c.Service.Evaluate(ctx, job.Args))
	}))
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[model.EvaluatePolicies]) error {
		return c.Service.EvaluatePolicies(ctx, job.Args)
	}))
	river.AddWorker(workers, &verifyPayoutMethod{service: c.Service, rail: c.Rail})
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[model.ReevaluatePayouts]) error {
		return c.Service.ReevaluatePayouts(ctx, job.Args)
	}))
	river.AddWorker(workers, &releasePayout{service: c.Service, rail: c.Rail, log: c.Log, tracer: c.Tracer, gate: newRailGate(time.Now)})
	river.AddWorker(workers, &releaseSlice{service: c.Service, rail: c.Rail, log: c.Log, tracer: c.Tracer})
	river.AddWorker(workers, &writeFiles{service: c.Service, rail: c.Rail})
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[model.DeleteFiles]) error {
		return c.Service.DeleteFiles(ctx, job.Args.Keys)
	}))
	river.AddWorker(workers, &drainEndpoint{service: c.Service, sender: c.Sender})
	river.AddWorker(workers, &pollFeed{service: c.Service, fetch: c.Fetch, feeds: c.Feeds})
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[model.SweepWork]) error {
		return c.Service.SweepDue(ctx, job.Args.Work)
	}))
	river.AddWorker(workers, &rescueJobs{pool: c.Pool, log: c.Log})
	river.AddWorker(workers, &checkInvariants{service: c.Service})
	river.AddWorker(workers, &fetchReports{service: c.Service, rail: c.Rail, log: c.Log})
	return workers
}

// sweepEvery is how late a deadline may be noticed.
const sweepEvery = 5 * time.Second

func (c Config) periodic() []*river.PeriodicJob {
	jobs := []*river.PeriodicJob{repeated(rescueEvery, RescueJobs{}), repeated(checkEvery, CheckInvariants{}), repeated(reportsEvery, FetchReports{})}
	for _, work := range model.DueWorks() {
		jobs = append(jobs, repeated(sweepEvery, model.SweepWork{Work: work}))
	}
	if _, writes := c.Rail.(fileWriter); writes {
		jobs = append(jobs, repeated(c.FilesEvery, WriteFiles{}))
	}
	for _, source := range c.Feeds {
		jobs = append(jobs, repeated(source.Every, source.job()))
	}
	return jobs
}

// repeated is a job that is asked for at the start and after every period.
func repeated(every time.Duration, job river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(every), func() (river.JobArgs, *river.InsertOpts) {
		return job, options(job.Kind())
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// Start begins to work, after the first heartbeat; it waits while the file store cannot be
// used, until ctx ends. Jobs run until Stop. It logs the name under which this process's
// jobs say who attempted them.
func (w *Workers) Start(ctx context.Context) error {
	if err := w.relay.service.RegisterRail(ctx, w.rail); err != nil {
		return err
	}
	if err := w.heartbeat.begin(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := w.presence.record(ctx); err != nil { // before it takes its first job
		return err
	}
	if err := w.client.Start(ctx); err != nil {
		return err
	}
	w.relay.log.InfoContext(ctx, "working", "worker", w.client.ID())
	w.relay.start(ctx, w.heartbeat.record, w.presence.record)
	return nil
}

// Stop takes no more jobs and waits for those that run, until ctx ends. The relay
// goes last, so that what the last jobs did is numbered.
func (w *Workers) Stop(ctx context.Context) error {
	defer w.relay.stop()
	return w.client.Stop(ctx)
}

// later lets a second pass wait for the transactions of the first.
func later(err error) error {
	if errors.Is(err, model.ErrNotYet) {
		return river.JobSnooze(time.Second)
	}
	return err
}

// warnings keeps River's own chatter out of the log: what a job did is told once,
// by logging.
type warnings struct{ slog.Handler }

// Enabled lets warnings and errors pass.
func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// WithAttrs keeps the bound.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the bound.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }

// quiet kinds run all the time; what they do has lines of its own.
var quiet = map[string]bool{"sweep": true, "rescue_jobs": true, "check_invariants": true, "poll_feed": true, "drain_endpoint": true}

// logging writes one line per attempt, with everything learned on the way.
type logging struct {
	river.MiddlewareDefaults

	log   *slog.Logger
	meter func(kind, outcome string, took time.Duration)
}

// Work implements rivertype.WorkerMiddleware.
func (l *logging) Work(ctx context.Context, job *rivertype.JobRow, next func(context.Context) error) error {
	began := time.Now()
	err := next(ctx)
	took := time.Since(began)
	attrs := []any{"kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "took", took}
	outcome := "done"
	var snooze *rivertype.JobSnoozeError
	var ended *rivertype.JobCancelError
	said := err
	if errors.As(err, &ended) {
		said = ended.Unwrap() // its own text tells who made it
	}
	switch {
	case err == nil && quiet[job.Kind]:
		l.log.DebugContext(ctx, "job", attrs...)
	case err == nil:
		l.log.InfoContext(ctx, "job", attrs...)
	case errors.As(err, &snooze):
		outcome = "later"
		l.log.InfoContext(ctx, "job waits", append(attrs, "for", snooze.Duration)...)
	default:
		outcome = "failed"
		l.log.ErrorContext(ctx, "job failed", append(attrs, "error", said)...)
	}
	if l.meter != nil {
		l.meter(job.Kind, outcome, took)
	}
	return err
}
