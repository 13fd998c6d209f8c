// Package graph serves the GraphQL API: it parses a document, calls the same operations
// of model as REST, and writes the response. It makes no domain decisions and does not
// access the database.
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

	"parapet/graph/fastjson"
	"parapet/graph/generated"
	"parapet/graph/guard"
	"parapet/graph/node"
	"parapet/graph/scalar"
	"parapet/internal/gateway"
	"parapet/model"
)

// Config is what the door stands on.
type Config struct {
	Service *model.Service
	// Limits of a document; guard.Standard when zero.
	Limits guard.Limits
	// HideSchema keeps the schema from being asked about, and from showing in
	// suggestions.
	HideSchema bool
	// TrustedDocuments are the only documents that run, by name; nil lets every document
	// run. ReadTrustedDocuments reads them.
	TrustedDocuments map[string]string
	// SandboxPath is where a browser is sent that comes by itself; empty: nowhere.
	SandboxPath string
	// Streams bound subscriptions.
	Streams Streams
}

// Handler is the handler.
type Handler struct {
	http.Handler

	streams *streams
}

// Close ends every subscription at once, with a reason that sends its client to
// another server, and waits until they were told.
func (d *Handler) Close() { d.streams.closeAll() }

// New makes the door. It serves requests that carry a visit: who mounts it decides
// how callers are admitted. Errors: a trusted document that cannot run.
func New(config Config) (*Handler, error) {
	if config.Service == nil {
		return nil, errors.New("the GraphQL door needs a service")
	}
	if config.Limits == (guard.Limits{}) {
		config.Limits = guard.Standard()
	}
	schema := generated.NewExecutableSchema(generated.Config{Schema: loadSchema(), Resolvers: &resolver{}})
	admission := &admission{
		guard: guard.New(schema.Schema(), config.Limits), schema: schema.Schema(), documents: newDocumentStore(config.TrustedDocuments),
		introspection: !config.HideSchema, validated: newLRUCache[*guard.Document](maxDocumentBytes),
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
	server.AroundRootFields(limitRootFields)
	server.AroundFields(chargeField)
	server.AroundFields(collectArgumentErrors)
	server.AroundFields(fastjson.New(schema.Schema()).AroundField)
	server.AroundFields(exemptMutation)
	server.SetErrorPresenter(presentError)
	server.SetRecoverFunc(recoverPanic)
	return &Handler{redirectBrowsers(config.SandboxPath, authenticate(config.Service, server)), streams}, nil
}

// loadSchema is the schema without @defer, which the library adds: an answer comes in one
// piece here, and what was deferred would be missing from it.
func loadSchema() *ast.Schema {
	s := *generated.NewExecutableSchema(generated.Config{}).Schema()
	s.Directives = maps.Clone(s.Directives)
	delete(s.Directives, "defer")
	return &s
}

// redirectBrowsers sends somebody who typed the address to the page where one can ask.
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

// authenticate finds out who asks before anything is read of what they say. A socket may
// tell that in its first message.
func authenticate(service *model.Service, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isUpgrade(r) && r.Header.Get("Authorization") == "" {
			next.ServeHTTP(w, r)
			return
		}
		ctx := r.Context()
		actor, err := gateway.FromContext(ctx).Authenticate(ctx)
		if err != nil {
			writeError(ctx, w, responseType, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(node.WithReader(ctx, &node.Reader{Service: service, Actor: actor})))
	})
}
