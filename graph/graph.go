// Package graph serves the GraphQL API: it parses a document, calls the same operations
// of model as REST, and writes the response. It makes no domain decisions and does not
// access the database.
//
// schema/ holds one file per resource. A new field is one line there and, if the record
// does not have it already, one short method in the resource's file of node/.
package graph

import (
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/fastjson"
	"parapet/graph/generated"
	"parapet/graph/guard"
	"parapet/graph/node"
	"parapet/graph/scalar"
	"parapet/internal/gateway"
	"parapet/model"
)

// Config configures the handler.
type Config struct {
	Service *model.Service
	// Limits of a document; guard.Standard when zero.
	Limits guard.Limits
	// HideSchema disables introspection and removes the schema from suggestions.
	HideSchema bool
	// TrustedDocuments are the only documents that may run, by name; nil allows every
	// document. ReadTrustedDocuments reads them.
	TrustedDocuments map[string]string
	// SandboxPath is where a browser is redirected that opens the address; empty means no
	// redirect.
	SandboxPath string
	// Streams configures the limits of subscriptions.
	Streams Streams
}

// Handler serves GraphQL over HTTP, server-sent events and WebSockets.
type Handler struct {
	http.Handler

	streams *streams
}

// Close ends every subscription at once with a reason that makes its client reconnect to
// another server, and waits until the clients have received it.
func (d *Handler) Close() { d.streams.closeAll() }

// New returns the handler. Its requests must carry a gateway.Request: the code that
// mounts it decides how callers are admitted. Errors: a trusted document that cannot run.
func New(config Config) (*Handler, error) {
	if config.Service == nil {
		return nil, errors.New("the GraphQL API needs a service")
	}
	if config.Limits == (guard.Limits{}) {
		config.Limits = guard.Standard()
	}
	schema := generated.NewExecutableSchema(generated.Config{Schema: loadSchema(), Resolvers: &resolver{}})
	admission := &admission{
		guard: guard.New(schema.Schema(), config.Limits), schema: schema.Schema(), documents: newDocumentStore(config.TrustedDocuments),
		introspection: !config.HideSchema, validated: newLRUCache[*admittedDocument](maxDocumentBytes),
	}
	if err := admission.checkTrusted(); err != nil {
		return nil, err
	}
	server := handler.New(schema)
	streams := newStreams(config.Streams, config.Service)
	server.AddTransport(admission.gate(socketTransport{streams}))
	server.AddTransport(admission.gate(httpTransport{streams}))
	server.SetQueryCache(documentCache{})
	server.Use(costExtensionWriter{})
	server.AroundOperations(limitOperation)
	server.AroundOperations(scalar.CollectErrors)
	server.AroundOperations(withSelection)
	server.AroundRootFields(limitRootFields)
	server.AroundFields(chargeField)
	server.AroundFields(collectArgumentErrors)
	server.AroundFields(fastjson.New(schema.Schema(), node.DirectCalls).AroundField)
	server.AroundFields(exemptMutation)
	server.SetErrorPresenter(presentError)
	server.SetRecoverFunc(recoverPanic)
	return &Handler{redirectBrowsers(config.SandboxPath, authenticate(config.Service, config.Streams.Now, server)), streams}, nil
}

// loadSchema returns the schema without @defer, which gqlgen adds: this server sends
// responses in one piece, so deferred fields would be missing.
func loadSchema() *ast.Schema {
	s := *generated.NewExecutableSchema(generated.Config{}).Schema()
	s.Directives = maps.Clone(s.Directives)
	delete(s.Directives, "defer")
	return &s
}

// redirectBrowsers redirects browsers that open the address to the sandbox page.
func redirectBrowsers(page string, next http.Handler) http.Handler {
	if page == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.RawQuery == "" && acceptWeight(r.Header.Get("Accept"), "text/html") > acceptWeight(r.Header.Get("Accept"), jsonType) {
			http.Redirect(w, r, page, http.StatusSeeOther)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authenticate identifies the caller before the body is read. A WebSocket may
// authenticate in its first message instead.
func authenticate(service *model.Service, now func() time.Time, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isUpgrade(r) && r.Header.Get("Authorization") == "" {
			next.ServeHTTP(w, r)
			return
		}
		ctx := r.Context()
		actor, err := gateway.FromContext(ctx).Authenticate(ctx)
		if err != nil {
			media, _ := mediaType(r.Header.Values("Accept")) // the refusal comes before not_acceptable
			writeError(ctx, w, media, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(node.WithReader(ctx, &node.Reader{Service: service, Actor: actor, Now: now})))
	})
}
