// Package node binds the schema's types to domain records. Each record knows the batch it
// was read with; the first access to a relation loads it for the whole batch, so the
// number of reads depends on the query's shape only.
package node

import (
	"context"

	"parapet/model"
)

// Node is a record that can be found by its id.
type Node interface{ IsNode() }

// Reader reads for one caller, in one request.
type Reader struct {
	Service *model.Service
	Actor   model.Actor
	// End ends a subscription and tells why; nil in requests that are none.
	End context.CancelCauseFunc
}

type readerKey struct{}

// WithReader hands the reader on to resolvers.
func WithReader(ctx context.Context, r *Reader) context.Context {
	return context.WithValue(ctx, readerKey{}, r)
}

// ReaderFrom is the request's reader. Without one nobody was admitted, and nothing may
// be read.
func ReaderFrom(ctx context.Context) *Reader { return ctx.Value(readerKey{}).(*Reader) }

// Viewer is who asks.
type Viewer struct{ actor model.Actor }

// Viewer is the caller.
func (r *Reader) Viewer() *Viewer { return &Viewer{r.Actor} }

// Kind is the role.
func (v *Viewer) Kind() string { return string(v.actor.Kind) }

// Name is as timelines show it.
func (v *Viewer) Name() string { return v.actor.Name }

// Client is the OAuth client.
func (v *Viewer) Client() string { return v.actor.Client }

// Partner is whom the token is for; nil when it is for none.
func (v *Viewer) Partner() *string {
	if v.actor.Partner == "" {
		return nil
	}
	return &v.actor.Partner
}

// Scopes are what the token allows.
func (v *Viewer) Scopes() []string {
	scopes := make([]string, len(v.actor.Scopes))
	for i, scope := range v.actor.Scopes {
		scopes[i] = string(scope)
	}
	return scopes
}
