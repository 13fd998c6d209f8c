// Package rest is the v1 HTTP door: it reads requests strictly, calls one
// operation of model each, and writes the record or a problem document. It
// decides nothing about protection and knows no database.
//
// routes.go is the contract's table; a new endpoint is one row there and one
// short method in the file of its noun.
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

	"parapet/internal/refusal"
	"parapet/internal/upload"
	"parapet/model"
)

// Config is what the door stands on.
type Config struct {
	Service *model.Service
	// Authenticate tells who holds a token. Its errors are shown: token_invalid,
	// token_expired, insufficient_scope, unavailable.
	Authenticate func(ctx context.Context, bearer string) (model.Actor, error)
	// Ready tells whether requests can be answered now; nil means always.
	Ready func(ctx context.Context) error
	// Alive tells, within a second and a half, whether the database answers. It is
	// asked about requests that take long, so that a silent database is told within two
	// seconds; nil leaves them to the answer's timeout. It must not wait for the
	// connections that requests use.
	Alive func(ctx context.Context) error
	// Family is the first segment of the second base address, "parametric" when
	// empty.
	Family string
	// BaseURL is the origin that the OpenAPI document names, such as
	// https://api.example.com; empty makes its addresses relative.
	BaseURL string
	// Issuers are the addresses where tokens come from, for the metadata of RFC
	// 9728; empty leaves them out.
	Issuers []string
	Log     *slog.Logger
	// Now measures how long requests take, for the log and for limits; nil leaves
	// both out.
	Now func() time.Time
	// Meter is told of every answer, where there is a clock; nil tells nobody.
	Meter func(route, method string, status int, took time.Duration)
	// Limiter bounds how often everybody may ask; nil means the contract's bounds,
	// counted on this node alone. Unlimited turns it off.
	Limiter Limiter
	// Strangers bounds how often one address may ask without a good token, apart
	// from everybody else; nil means 1000 requests a second, 2000 in one go, on this
	// node alone, and nothing where Limiter is Unlimited.
	Strangers Limiter
	// Bodies bounds the bytes of requests that are received at once; nil leaves them
	// unbounded.
	Bodies *upload.Budget
	// ReadWithin is how long a caller may take to read an answer; 30 s when zero.
	ReadWithin time.Duration
	// Tracer makes a span of every request; nil makes none.
	Tracer trace.Tracer
	// Refused is told who was refused for want of a permission; nil tells nobody.
	Refused func(model.Actor, *model.Error)
	// Beside are other doors of the same server, by address. They find a visit in
	// their request's context, and share everything that comes before a door decides
	// anything: request id, trace, log, time-out, who asks and how often.
	Beside map[string]http.Handler
	// Development mounts what a production server must not have: the sandbox.
	Development bool
}

// answerTimeout is how long a request may take before it is given up with 503.
const answerTimeout = 30 * time.Second

// door is the handler: one router, reachable under every base address.
type door struct {
	Config

	bases  []string // the base addresses, the short one first
	mux    *http.ServeMux
	routes []route
}

var familyName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// New makes the door. It fails on a configuration that cannot work, and never
// touches the network.
func New(config Config) (http.Handler, error) {
	if config.Family == "" {
		config.Family = "parametric"
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if !familyName.MatchString(config.Family) || config.Family == "v1" {
		return nil, fmt.Errorf("the family %q cannot be the first segment of an address", config.Family)
	}
	if config.Service == nil || config.Authenticate == nil {
		return nil, errors.New("the REST door needs a service and a way to authenticate")
	}
	d := &door{Config: config, bases: []string{version, "/" + config.Family + version}, mux: http.NewServeMux()}
	d.limits()
	d.routes = d.table()
	return d, d.mount()
}

// mount registers every address once; the family's prefix is taken off before.
func (d *door) mount() error {
	for i := range d.routes {
		d.handle(&d.routes[i])
	}
	d.mux.Handle("GET /healthz", d.public(d.healthy))
	d.mux.Handle("GET /readyz", d.public(d.ready))
	d.mux.Handle("GET "+metadataPath, d.public(d.resource))
	for address, handler := range d.Beside {
		d.mux.Handle(address, d.beside(address, handler))
	}
	document, err := d.document()
	if err != nil {
		return err
	}
	return errors.Join(d.publish(document), d.publishPage(), d.publishHome())
}

// public is a handler that asks for no token.
func (d *door) public(serve func(context.Context, *call) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := w.(*call)
		c.request, c.route = r, &route{method: r.Method, path: r.URL.Path}
		if err := serve(r.Context(), c); err != nil {
			d.refuse(r.Context(), c, err)
		}
	})
}

func (d *door) healthy(_ context.Context, c *call) error {
	return c.answer(http.StatusOK, map[string]string{"status": "ok"})
}

// ready keeps the reason for the log: it tells about our inside.
func (d *door) ready(ctx context.Context, c *call) error {
	if d.Ready != nil {
		if err := d.Ready(ctx); err != nil {
			return refusal.Unavailable().Because(err)
		}
	}
	return c.answer(http.StatusOK, map[string]string{"status": "ready"})
}
