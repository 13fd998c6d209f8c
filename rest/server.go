// Package rest is the v1 REST API: it parses requests strictly, calls one operation of
// the domain each, and writes the record or an RFC 9457 problem document.
//
// routes.go is the contract's table; a new endpoint is one row there and one short method
// in the file of its resource.
package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"go.opentelemetry.io/otel/trace"

	"parapet/internal/errormap"
	"parapet/internal/gateway"
	"parapet/internal/upload"
	"parapet/model"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// Config configures the handler.
type Config struct {
	Service *model.Service
	// Authenticate returns the holder of a token. Its errors are shown to the caller:
	// token_invalid, token_expired, insufficient_scope, unavailable.
	Authenticate func(ctx context.Context, bearer string) (actor.Actor, error)
	// CheckReady reports whether requests can be answered now; nil means always.
	CheckReady func(ctx context.Context) error
	// PingDatabase reports within 1.5 s whether the database answers. It runs while
	// requests take over 400 ms, once for all of them, so that a lost database is
	// reported within 2 s; nil disables it. It must not use the connections that requests
	// use.
	PingDatabase func(ctx context.Context) error
	// Family is the first segment of the second base address, "parametric" when
	// empty.
	Family string
	// BaseURL is the origin that the OpenAPI document names, such as
	// https://api.example.com; empty makes its addresses relative.
	BaseURL string
	// Issuers are the addresses of the token issuers, for the metadata of RFC 9728; empty
	// omits them.
	Issuers []string
	Log     *slog.Logger
	// Now measures durations for the log and for limits; nil disables both.
	Now func() time.Time
	// ObserveRequest records route, method, status and duration of every response; nil
	// disables it. It needs Now.
	ObserveRequest func(route, method string, status int, took time.Duration)
	// Limiter limits the requests of each caller; nil means the contract's limits,
	// counted on this node only. Unlimited disables it.
	Limiter Limiter
	// AddressLimiter limits requests without a valid token per IP address, independently
	// of Limiter. nil: 1000 requests/s, burst 2000, on this node only; no limit when
	// Limiter is Unlimited.
	AddressLimiter Limiter
	// BodyBudget limits the bytes of concurrently received bodies; nil means no limit.
	BodyBudget *upload.Budget
	// Waiters counts the requests that wait for events; nil has no limit.
	Waiters *gateway.Waiters
	// WriteTimeout is how long a caller may take to read a response; 30 s when zero.
	WriteTimeout time.Duration
	// Tracer records a span for every request; nil records none.
	Tracer trace.Tracer
	// OnCall is called for requests of partners that changed something or were refused (for
	// their developers); nil disables that.
	OnCall func(caller actor.Actor, at time.Time, operation string, status int, refusal *apperr.Error)
	// OnDenied is called when a permission is missing (for the audit log); nil disables
	// it.
	OnDenied func(actor.Actor, *apperr.Error)
	// SharedHandlers are further handlers of the same server by ServeMux pattern. They
	// run behind the same middleware (request ID, trace, log, timeout, authentication,
	// rate limit) and find it by gateway.FromContext.
	SharedHandlers map[string]http.Handler
	// Development registers the sandbox routes, which a production server must not have.
	Development bool
}

// requestTimeout is the time after which a request fails with 503.
const requestTimeout = 30 * time.Second

// server is the handler: one router for all base addresses.
type server struct {
	Config

	basePaths []string // the base addresses, the short one first
	mux       *http.ServeMux
	routes    []route
	watch     databaseWatch

	retryWaits retryWaits
}

var familyPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// New returns the handler. It returns an error for an invalid configuration and never
// accesses the network.
func New(config Config) (http.Handler, error) {
	if config.Family == "" {
		config.Family = "parametric"
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if !familyPattern.MatchString(config.Family) || config.Family == "v1" {
		return nil, fmt.Errorf("the family %q cannot be the first segment of an address", config.Family)
	}
	if config.Service == nil || config.Authenticate == nil {
		return nil, errors.New("the REST door needs a service and a way to authenticate")
	}
	s := &server{Config: config, basePaths: []string{versionPath, "/" + config.Family + versionPath}, mux: http.NewServeMux(), watch: databaseWatch{ping: config.PingDatabase}}
	s.setLimiters()
	s.routes = s.contractRoutes()
	return s, s.registerHandlers()
}

// registerHandlers registers every address once; the family's prefix is removed before
// routing.
func (s *server) registerHandlers() error {
	for i := range s.routes {
		s.registerRoute(&s.routes[i])
	}
	s.mux.Handle("GET /healthz", s.publicHandler(s.getHealth))
	s.mux.Handle("GET /readyz", s.publicHandler(s.getReadiness))
	s.mux.Handle("GET "+metadataPath, s.publicHandler(s.getResourceMetadata))
	s.mux.Handle("GET "+receiptKeysPath, s.publicHandler(s.getReceiptKeys))
	for address, handler := range s.SharedHandlers {
		s.mux.Handle(address, s.mount(address, handler))
	}
	document, err := s.buildDocument()
	if err != nil {
		return err
	}
	return errors.Join(s.registerDocument(document), s.registerDocsPages(), s.registerHomePage())
}

// publicHandler returns a handler that needs no token.
func (s *server) publicHandler(serve func(context.Context, *requestContext) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := w.(*requestContext)
		c.request, c.route = r, &route{method: r.Method, path: r.URL.Path}
		if err := serve(r.Context(), c); err != nil {
			s.writeProblem(r.Context(), c, err)
		}
	})
}

func (s *server) getHealth(_ context.Context, c *requestContext) error {
	return c.writeRecord(http.StatusOK, map[string]string{"status": "ok"})
}

// getReadiness logs the reason instead of returning it, because it reveals internals.
func (s *server) getReadiness(ctx context.Context, c *requestContext) error {
	if s.CheckReady != nil {
		if err := s.CheckReady(ctx); err != nil {
			return errormap.Unavailable().WithCause(err)
		}
	}
	return c.writeRecord(http.StatusOK, map[string]string{"status": "ready"})
}
