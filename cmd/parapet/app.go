package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace"

	"parapet/console"
	"parapet/graph"
	"parapet/graph/guard"
	"parapet/graph/sandbox"
	"parapet/internal/auth"
	"parapet/internal/egress"
	"parapet/internal/filestore"
	"parapet/internal/gateway"
	"parapet/internal/proxy"
	"parapet/internal/tracing"
	"parapet/internal/upload"
	"parapet/jobs"
	"parapet/jobs/fetch"
	"parapet/jobs/rail"
	"parapet/jobs/webhook"
	"parapet/migrations"
	"parapet/model"
	"parapet/model/dbconn"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/dbpool"
	"parapet/model/kernel/seal"
	"parapet/rest"
)

// app wires the parts of the service. serve, dev and the end-to-end tests build the same
// app.
type app struct {
	settings         settings
	log              *slog.Logger
	db               *dbpool.Database
	riverPool        *pgxpool.Pool // separate pool: River's constant statements are prepared
	monitor          *dbconn.Monitor
	files            filestore.Store
	bankFiles        filestore.Store // files exchanged with a bank; nil for other rails
	rail             rail.Rail
	egressGuard      *egress.Guard // guards connections to addresses that callers configured
	service          *model.Service
	handler          http.Handler
	graphql          *graph.Handler
	jobAdmin         *jobs.RiverUI               // nil without the operator UI
	operatorHandlers map[string]http.Handler     // the operators' pages
	checkIssuers     func(context.Context) error // whether the keys of all issuers are known
	waiters          *gateway.Waiters
	metrics          *metrics
	tracer           trace.Tracer // nil without a collector
	stopTracing      func()
	workers          *jobs.Workers
	draining         atomic.Bool // the signal to end has come
}

// newApp builds the service without starting it. Close it in any case.
func newApp(ctx context.Context, s settings, keys seal.Keys, log *slog.Logger) (a *app, err error) {
	a = &app{settings: s, log: log, egressGuard: egress.New(egress.Config{Loopback: s.Loopback}), waiters: gateway.NewWaiters(s.PartnerWaiterLimit, s.WaiterLimit)}
	defer func() {
		if err != nil {
			a.closeAll()
		}
	}()
	if err = a.openDatabase(ctx); err != nil {
		return a, err
	}
	if a.files, err = filestore.Open(s.Files); err != nil {
		return a, fmt.Errorf("PARAPET_FILES: %w", err)
	}
	queue, err := jobs.NewQueue(a.riverPool)
	if err != nil {
		return a, err
	}
	receiptKeys, err := s.parseReceiptKeys()
	if err != nil {
		return a, err
	}
	if a.service, err = model.New(model.Config{DB: a.db, Queue: queue, Jobs: queue.NewJobAdmin(a.riverPool), Files: a.files, Keys: keys, Receipt: receiptKeys, Development: s.Rehearsal, RehearsalClock: s.RehearsalClock == clockOfPartners || s.RehearsalClock == "true", Webhooks: a.webhookRules(), BatchRelease: s.isBatchRail(), LargestClaimsFirst: s.ClaimOrder == orderByAmount}); err != nil {
		return a, err
	}
	if a.tracer, a.stopTracing, err = tracing.NewTracer(ctx); err != nil {
		return a, err
	}
	a.metrics = newMetrics(a.service, a.riverPool, log)
	a.metrics.registry.MustRegister(replicaCollector{a.db.Replicas})
	a.metrics.registerWaiters(a.waiters)
	if err := a.wireWorkers(ctx); err != nil {
		return a, err
	}
	if err := a.openOperatorUI(queue, keys); err != nil {
		return a, err
	}
	return a, a.wireAPI()
}

// webhookRules returns the rules for sending events.
func (a *app) webhookRules() webhooks.Config {
	return webhooks.Config{TargetProblem: a.egressGuard.CheckURL, DelayDivisor: a.settings.DelayDivisor}
}

func (a *app) wireWorkers(ctx context.Context) error {
	payment, err := a.openRail()
	if err != nil {
		return err
	}
	a.rail = payment
	feeds, err := a.feedAddresses()
	if err != nil {
		return err
	}
	owns, err := jobs.OwnsTables(ctx, a.riverPool)
	if err != nil {
		return err
	}
	a.workers, err = jobs.NewWorkers(jobs.Config{
		KeepIndexes: !owns,
		Pool:        a.riverPool, Service: a.service, Rail: payment, RailRate: a.settings.RailRate, FileInterval: a.settings.RailFilesEvery,
		Feeds: feeds, SettleAfter: a.settings.SettlesAfter, Fetch: &fetch.Fetcher{Client: a.egressGuard.Client(fetch.FetchTimeout, egress.FollowRedirects)}, Log: a.log,
		Sender: &webhook.Sender{Client: a.egressGuard.Client(webhook.Timeout), Now: time.Now}, ObserveJob: a.metrics.observeJob, Tracer: a.tracer,
	})
	return err
}

func (a *app) wireAPI() error {
	verifier, err := auth.New(auth.Config{
		Issuers: a.settings.Issuers, Audience: a.settings.Audience, Algorithms: a.settings.Algorithms,
		PartnerClaim: a.settings.PartnerClaim, RequireType: a.settings.RequireType, Now: time.Now,
		SignInMaxAge: a.settings.SignInMaxAge, AllowAnySource: a.settings.Rehearsal, AllowPartnerSource: a.settings.isDevelopmentStack(),
	})
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	proxies, err := proxy.ParseNetworks(a.settings.TrustedProxies)
	if err != nil {
		return fmt.Errorf("PARAPET_TRUSTED_PROXIES: %w", err)
	}
	doors, err := a.sharedHandlers()
	if err != nil {
		return err
	}
	handler, err := rest.New(rest.Config{
		Service: a.service, Family: a.settings.Family, BaseURL: a.settings.BaseURL, Log: a.log, Development: a.settings.Rehearsal,
		Authenticate: verifier.Verify, Now: time.Now, Issuers: a.settings.Issuers, Limiter: a.partnerLimiter(), AddressLimiter: a.addressLimiter(),
		Waiters:        a.waiters,
		BodyBudget:     upload.NewBudget(a.settings.PartnerUploadLimit<<20, a.settings.UploadLimit<<20),
		SharedHandlers: doors, ObserveRequest: a.metrics.observeRequest, OnDenied: a.service.Audit.RecordRefusal, OnCall: a.service.Audit.RecordCall, Tracer: a.tracer,
		PingDatabase: a.monitor.Alive,
		CheckReady: func(ctx context.Context) error {
			return errors.Join(a.checkDraining(), a.db.Pool.Ping(ctx), migrations.Check(ctx, a.db.Pool), verifier.Ready(ctx))
		},
	})
	if err != nil {
		return err
	}
	a.checkIssuers = verifier.Ready
	compressed, err := compressResponses(handler)
	if err != nil {
		return err
	}
	a.handler = proxies.Handler(a.settings.crossOrigin(compressed))
	return nil
}

// sharedHandlers returns the handlers besides REST, by address.
func (a *app) sharedHandlers() (map[string]http.Handler, error) {
	doors := map[string]http.Handler{}
	if a.settings.SandboxPage {
		page, err := a.sandboxPage()
		if err != nil {
			return nil, err
		}
		maps.Copy(doors, page)
	}
	if a.settings.Console {
		pages, err := a.consolePages()
		if err != nil {
			return nil, err
		}
		maps.Copy(doors, pages)
	}
	maps.Copy(doors, a.railHandlers())
	maps.Copy(doors, a.operatorHandlers)
	var err error
	if a.graphql, err = a.newGraphQL(); err != nil {
		return nil, err
	}
	doors["/graphql"] = a.graphql
	return doors, nil
}

// newGraphQL returns the handler of /graphql.
func (a *app) newGraphQL() (*graph.Handler, error) {
	config := graph.Config{
		Service: a.service, Limits: guard.Standard(), HideSchema: !a.settings.Introspection,
		Streams: graph.Streams{Now: time.Now, Origins: a.settings.Origins, Waiters: a.waiters},
	}
	config.Limits.Cost = a.settings.QueryCost
	if a.settings.SandboxPage {
		config.SandboxPath = sandbox.Path
	}
	if path := a.settings.TrustedQueries; path != "" {
		var err error
		if config.TrustedDocuments, err = graph.ReadTrustedDocuments(path); err != nil {
			return nil, fmt.Errorf("PARAPET_GRAPHQL_TRUSTED_DOCUMENTS: %w", err)
		}
		if a.settings.Console {
			own, err := console.Documents()
			if err != nil {
				return nil, err
			}
			maps.Copy(config.TrustedDocuments, own)
		}
	}
	return graph.New(config)
}

// partnerLimiter counts requests over all nodes of the database.
func (a *app) partnerLimiter() rest.Limiter {
	perSecond, burst := a.settings.RateLimit, a.settings.RateBurst
	if perSecond <= 0 {
		return rest.Unlimited{}
	}
	return rest.NewLimiter(rest.RateLimit{PerSecond: perSecond, Burst: burst, Quota: a.service.Partners.Quota(perSecond, burst)}, time.Now)
}

// addressLimiter counts on this node only: a request without a valid token must not cost
// database work.
func (a *app) addressLimiter() rest.Limiter {
	perSecond, burst := a.settings.AddressRateLimit, a.settings.AddressRateBurst
	if perSecond <= 0 {
		return rest.Unlimited{}
	}
	return rest.NewLimiter(rest.RateLimit{PerSecond: perSecond, Burst: burst}, time.Now)
}

// closeAll releases everything; it may be called on a partially built app.
func (a *app) closeAll() {
	if a.stopTracing != nil {
		a.stopTracing()
	}
	if a.riverPool != nil {
		a.riverPool.Close()
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
	if a.bankFiles != nil {
		_ = a.bankFiles.Close()
	}
}
