package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/errgroup"

	"parapet/graph"
	"parapet/graph/guard"
	"parapet/graph/sandbox"
	"parapet/internal/auth"
	"parapet/internal/egress"
	"parapet/internal/filestore"
	"parapet/internal/tracing"
	"parapet/internal/upload"
	"parapet/jobs"
	"parapet/jobs/feed"
	"parapet/jobs/rail"
	"parapet/jobs/webhook"
	"parapet/migrations"
	"parapet/model"
	"parapet/model/dbconn"
	"parapet/rest"
)

// app is the running service: its parts and who holds whom. serve, dev and the
// end-to-end tests build the same one.
type app struct {
	settings settings
	log      *slog.Logger
	db       *model.Database
	river    *pgxpool.Pool // River's own: its statements are constant and profit from being prepared
	monitor  *dbconn.Monitor
	files    filestore.Store
	outbox   filestore.Store // a bank's files; nil for other rails
	rail     rail.Rail
	guard    *egress.Guard // of connections to addresses that others named
	service  *model.Service
	handler  http.Handler
	graphql  *graph.Door
	console  *jobs.Console           // nil without the desk
	desk     map[string]http.Handler // the operators' pages
	metrics  *metrics
	tracer   trace.Tracer // nil without a collector
	untrace  func()
	workers  *jobs.Workers
}

// drainTime is how long requests and jobs may take to end after the signal.
const drainTime = 25 * time.Second

// newApp builds the service; nothing runs yet. close it in any case.
func newApp(ctx context.Context, s settings, keys model.Keys, log *slog.Logger) (a *app, err error) {
	a = &app{settings: s, log: log, guard: egress.New(egress.Config{Loopback: s.Loopback})}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	if err = a.openDatabase(ctx); err != nil {
		return a, err
	}
	if a.files, err = filestore.Open(s.Files); err != nil {
		return a, fmt.Errorf("PARAPET_FILES: %w", err)
	}
	queue, err := jobs.NewQueue(a.river)
	if err != nil {
		return a, err
	}
	if a.service, err = model.New(model.Config{DB: a.db, Queue: queue, Jobs: queue.NewDesk(a.river), Files: a.files, Keys: keys, Development: s.Rehearsal, RehearsalClock: s.RehearsalClock, Webhooks: a.webhooks(), Slices: s.inSlices()}); err != nil {
		return a, err
	}
	if a.tracer, a.untrace, err = tracing.Open(ctx); err != nil {
		return a, err
	}
	a.metrics = newMetrics(a.service, a.river, log)
	if err := a.wireWorkers(); err != nil {
		return a, err
	}
	if err := a.openDesk(queue, keys); err != nil {
		return a, err
	}
	return a, a.wireAPI()
}

// webhooks are the rules of sending events.
func (a *app) webhooks() model.Webhooks {
	return model.Webhooks{Refuse: a.guard.Refuse, Haste: a.settings.Haste}
}

func (a *app) wireWorkers() error {
	payment, err := a.openRail()
	if err != nil {
		return err
	}
	a.rail = payment
	feeds, err := a.feeds()
	if err != nil {
		return err
	}
	a.workers, err = jobs.NewWorkers(jobs.Config{
		Pool: a.river, Service: a.service, Rail: payment, FilesEvery: a.settings.RailFilesEvery,
		Feeds: feeds, Fetch: &feed.Fetcher{Client: a.guard.Client(feed.FetchTimeout, egress.FollowRedirects)}, Log: a.log,
		Sender: &webhook.Sender{Client: a.guard.Client(webhook.Timeout), Now: time.Now}, Meter: a.metrics.job, Tracer: a.tracer,
	})
	return err
}

func (a *app) wireAPI() error {
	verifier, err := auth.New(auth.Config{
		Issuers: a.settings.Issuers, Audience: a.settings.Audience, Algorithms: a.settings.Algorithms,
		PartnerClaim: a.settings.PartnerClaim, RequireType: a.settings.RequireType, Now: time.Now,
		AllowAnySource: a.settings.Rehearsal, AllowPartnerSource: a.settings.Rehearsal,
	})
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	doors, err := a.beside()
	if err != nil {
		return err
	}
	a.handler, err = rest.New(rest.Config{
		Service: a.service, Family: a.settings.Family, BaseURL: a.settings.BaseURL, Log: a.log, Development: a.settings.Rehearsal,
		Authenticate: verifier.Verify, Now: time.Now, Issuers: a.settings.Issuers, Limiter: a.limiter(), Strangers: a.strangers(),
		Bodies: upload.NewBudget(a.settings.PartnerBodies<<20, a.settings.Bodies<<20),
		Beside: doors, Meter: a.metrics.request, Refused: a.service.Refused, Tracer: a.tracer,
		Alive: a.monitor.Alive,
		Ready: func(ctx context.Context) error {
			return errors.Join(a.db.Pool.Ping(ctx), migrations.Check(ctx, a.db.Pool), verifier.Ready(ctx))
		},
	})
	return err
}

// beside are the other doors, by address.
func (a *app) beside() (map[string]http.Handler, error) {
	doors := map[string]http.Handler{}
	if a.settings.Sandbox {
		page, err := a.sandboxPage()
		if err != nil {
			return nil, err
		}
		maps.Copy(doors, page)
	}
	maps.Copy(doors, a.railDoors())
	maps.Copy(doors, a.desk)
	var err error
	if a.graphql, err = a.newGraphQL(); err != nil {
		return nil, err
	}
	doors["/graphql"] = a.graphql
	return doors, nil
}

// newGraphQL answers at /graphql.
func (a *app) newGraphQL() (*graph.Door, error) {
	config := graph.Config{
		Service: a.service, Limits: guard.Standard(), Secretive: !a.settings.Introspection,
		Streams: graph.Streams{Now: time.Now, Origins: a.settings.Origins},
	}
	config.Limits.Cost = a.settings.QueryCost
	if a.settings.Sandbox {
		config.Page = sandbox.Path
	}
	if path := a.settings.TrustedQueries; path != "" {
		var err error
		if config.Trusted, err = graph.ReadTrusted(path); err != nil {
			return nil, fmt.Errorf("PARAPET_GRAPHQL_TRUSTED_DOCUMENTS: %w", err)
		}
	}
	return graph.New(config)
}

// limiter counts requests over all nodes of the database.
func (a *app) limiter() rest.Limiter {
	perSecond, burst := a.settings.RateLimit, a.settings.RateBurst
	if perSecond <= 0 {
		return rest.Unlimited{}
	}
	return rest.NewLimiter(rest.RateLimit{PerSecond: perSecond, Burst: burst, Quota: a.service.Quota(perSecond, burst)}, time.Now)
}

// strangers counts on this node alone: who shows no good token must not cost the
// database anything.
func (a *app) strangers() rest.Limiter {
	perSecond, burst := a.settings.StrangerLimit, a.settings.StrangerBurst
	if perSecond <= 0 {
		return rest.Unlimited{}
	}
	return rest.NewLimiter(rest.RateLimit{PerSecond: perSecond, Burst: burst}, time.Now)
}

// run serves on the listeners (metrics may be nil) and works jobs until ctx
// ends, then drains: no new requests, those that run end, no new jobs, those
// that run end.
func (a *app) run(ctx context.Context, listener, metrics net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	if slices.Contains(a.settings.Roles, "api") {
		if a.console != nil {
			if err := a.console.Start(ctx); err != nil {
				return fmt.Errorf("job console: %w", err)
			}
		}
		server := &http.Server{
			Handler: a.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
			WriteTimeout: 90 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
			DisableGeneralOptionsHandler: true, // OPTIONS * is answered like everything else
		}
		group.Go(func() error { return a.keepRefusals(ctx) })
		server.RegisterOnShutdown(a.service.EndWaits)
		server.RegisterOnShutdown(a.graphql.Close)
		group.Go(func() error {
			err := serveUntil(ctx, server, rest.ProblemListener(listener))
			a.graphql.Close() // the server does not wait for WebSockets
			return err
		})
	}
	if metrics != nil {
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", a.metrics.handler())
		group.Go(func() error {
			return serveUntil(ctx, &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}, metrics)
		})
	}
	if slices.Contains(a.settings.Roles, "workers") {
		group.Go(func() error { return a.work(ctx) })
	}
	return group.Wait()
}

func (a *app) work(ctx context.Context) error {
	if err := a.workers.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // it was stopped before it began
		}
		return fmt.Errorf("start workers: %w", err)
	}
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return a.workers.Stop(drain)
}

// serveUntil serves until ctx ends and then waits for requests that run.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener) error {
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	return server.Shutdown(drain)
}

// close lets go of everything; it may be called on a half-built app.
func (a *app) close() {
	if a.untrace != nil {
		a.untrace()
	}
	if a.river != nil {
		a.river.Close()
	}
	if a.db != nil {
		a.db.Close()
	}
	if a.monitor != nil {
		a.monitor.Close()
	}
	if a.files != nil {
		_ = a.files.Close()
	}
	if a.outbox != nil {
		_ = a.outbox.Close()
	}
}
