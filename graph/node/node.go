// Package node binds the schema's types to domain records. Each record knows the batch it
// was read with; the first access to a relation loads it for the whole batch, so the
// number of reads depends on the query's shape only.
package node

import (
	"context"
	"time"

	"parapet/model"
	"parapet/model/kernel/actor"
)

// Node is a record that can be found by its id.
type Node interface{ IsNode() }

// Reader reads for one caller in one request.
type Reader struct {
	Service *model.Service
	Actor   actor.Actor
	Now     func() time.Time // the time of tokens
	// End ends a subscription with a reason; nil for other requests.
	End context.CancelCauseFunc
}

type readerKey struct{}

// WithReader adds the reader to the context.
func WithReader(ctx context.Context, r *Reader) context.Context {
	return context.WithValue(ctx, readerKey{}, r)
}

// ReaderFrom returns the request's reader. It panics without one, because then no caller
// was admitted and nothing may be read.
func ReaderFrom(ctx context.Context) *Reader { return ctx.Value(readerKey{}).(*Reader) }

// Viewer is the authenticated caller.
type Viewer struct{ actor actor.Actor }

// Viewer returns the caller.
func (r *Reader) Viewer() *Viewer { return &Viewer{r.Actor} }

// Kind returns the caller's role.
func (v *Viewer) Kind() string { return string(v.actor.Kind) }

// Name returns the caller's name as timelines show it.
func (v *Viewer) Name() string { return v.actor.Name }

// Client returns the OAuth client.
func (v *Viewer) Client() string { return v.actor.Client }

// Partner returns the partner of the token, nil without one.
func (v *Viewer) Partner() *string {
	if v.actor.Partner == "" {
		return nil
	}
	return &v.actor.Partner
}

// Scopes returns the scopes of the token.
func (v *Viewer) Scopes() []string {
	scopes := make([]string, len(v.actor.Scopes))
	for i, scope := range v.actor.Scopes {
		scopes[i] = string(scope)
	}
	return scopes
}
