// Package graph is the GraphQL door: it reads a document, calls the operations of
// model that REST calls too, and writes what was asked for. It decides nothing
// about protection and knows no database.
//
// schema/ holds one file a noun. A new field is one line there and, where the
// record does not have it already, one short method in the noun's file of node/.
package graph

import (
	"errors"
	"net/http"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/vektah/gqlparser/v2/ast"

	"parapet/graph/generated"
	"parapet/graph/node"
	"parapet/internal/visit"
	"parapet/model"
)

// Config is what the door stands on.
type Config struct {
	Service *model.Service
}

// queryCache is how many documents are kept parsed.
const queryCache = 1000

// New makes the door. It serves requests that carry a visit: who mounts it decides
// how callers are admitted.
func New(config Config) (http.Handler, error) {
	if config.Service == nil {
		return nil, errors.New("the GraphQL door needs a service")
	}
	server := handler.New(generated.NewExecutableSchema(generated.Config{Resolvers: &resolver{}}))
	server.AddTransport(transport.GET{})
	server.AddTransport(transport.POST{})
	server.SetQueryCache(lru.New[*ast.QueryDocument](queryCache))
	server.Use(extension.Introspection{})
	server.SetErrorPresenter(present)
	server.SetRecoverFunc(survive)
	return admitted(config.Service, server), nil
}

// admitted finds out who asks before anything is read of what they say.
func admitted(service *model.Service, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		actor, err := visit.From(ctx).Admit(ctx)
		if err != nil {
			refuse(ctx, w, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(node.With(ctx, &node.Reader{Service: service, Actor: actor})))
	})
}
