// Package graph is the GraphQL door: it reads a document, calls the operations of
// model that REST calls too, and writes what was asked for. It decides nothing
// about protection and knows no database.
//
// schema/ holds one file a noun. A new field is one line there and, where the
// record does not have it already, one short method in the noun's file of node/.
package graph

import (
	"errors"
	"maps"
	"net/http"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/generated"
	"parapet/graph/guard"
	"parapet/graph/node"
	"parapet/graph/scalar"
	"parapet/graph/straight"
	"parapet/internal/visit"
	"parapet/model"
)

// Config is what the door stands on.
type Config struct {
	Service *model.Service
	// Limits of a document; guard.Standard when zero.
	Limits guard.Limits
	// Secretive keeps the schema from being asked about, and from showing in
	// suggestions.
	Secretive bool
	// Trusted are the only documents that run, by name; nil lets every document
	// run. ReadTrusted reads them.
	Trusted map[string]string
	// Page is where a browser is sent that comes by itself; empty: nowhere.
	Page string
	// Streams bound subscriptions.
	Streams Streams
}

// Door is the handler.
type Door struct {
	http.Handler

	streams *streams
}

// Close ends every subscription at once, with a reason that sends its client to
// another server, and waits until they were told.
func (d *Door) Close() { d.streams.end() }

// New makes the door. It serves requests that carry a visit: who mounts it decides
// how callers are admitted. Errors: a trusted document that cannot run.
func New(config Config) (*Door, error) {
	if config.Service == nil {
		return nil, errors.New("the GraphQL door needs a service")
	}
	if config.Limits == (guard.Limits{}) {
		config.Limits = guard.Standard()
	}
	schema := generated.NewExecutableSchema(generated.Config{Schema: whole(), Resolvers: &resolver{}})
	judge := &judge{
		guard: guard.New(schema.Schema(), config.Limits), schema: schema.Schema(), library: newLibrary(config.Trusted),
		introspection: !config.Secretive, documents: keep[*guard.Document](documentsKept),
	}
	if err := judge.rehearse(); err != nil {
		return nil, err
	}
	server := handler.New(schema)
	streams := newStreams(config.Streams, config.Service)
	server.AddTransport(judge.before(overSocket{streams}))
	server.AddTransport(judge.before(overHTTP{streams}))
	server.SetQueryCache(handed{})
	server.Use(costs{})
	server.AroundOperations(limitOperation)
	server.AroundOperations(scalar.Noting)
	server.AroundRootFields(limitRootFields)
	server.AroundFields(chargeField)
	server.AroundFields(heard)
	server.AroundFields(straight.New(schema.Schema()).AroundField)
	server.AroundFields(exemptMutation)
	server.SetErrorPresenter(present)
	server.SetRecoverFunc(survive)
	return &Door{welcomed(config.Page, admitted(config.Service, server)), streams}, nil
}

// whole is the schema without @defer, which the library adds: an answer comes in one
// piece here, and what was deferred would be missing from it.
func whole() *ast.Schema {
	s := *generated.NewExecutableSchema(generated.Config{}).Schema()
	s.Directives = maps.Clone(s.Directives)
	delete(s.Directives, "defer")
	return &s
}

// welcomed sends somebody who typed the address to the page where one can ask.
func welcomed(page string, next http.Handler) http.Handler {
	if page == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.RawQuery == "" && weight(r.Header.Get("Accept"), "text/html") > weight(r.Header.Get("Accept"), jsonType) {
			http.Redirect(w, r, page, http.StatusSeeOther)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admitted finds out who asks before anything is read of what they say. A socket may
// tell that in its first message.
func admitted(service *model.Service, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if upgrades(r) && r.Header.Get("Authorization") == "" {
			next.ServeHTTP(w, r)
			return
		}
		ctx := r.Context()
		actor, err := visit.From(ctx).Admit(ctx)
		if err != nil {
			refuse(ctx, w, responseType, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(node.With(ctx, &node.Reader{Service: service, Actor: actor})))
	})
}
