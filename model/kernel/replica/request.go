package replica

import (
	"context"
	"sync"
	"time"

	"parapet/model/kernel/wal"
)

// request is what the reads of one request share. It is safe for concurrent use.
type request struct {
	after    wal.Position // the reads must see this position
	hasAfter bool

	mu      sync.Mutex
	waitEnd time.Time // when its reads stop waiting for a replica; zero before the first wait
}

type (
	requestKey   struct{}
	readAfterKey struct{}
)

// WithReadAfter returns a context whose reads must see the write at a position.
func WithReadAfter(ctx context.Context, after wal.Position) context.Context {
	return context.WithValue(ctx, readAfterKey{}, after)
}

// Allow returns a context whose reads may run on a replica. The reads under one such
// context wait together at most MaxWait for a replica. Do not use it for an operation that
// writes.
func Allow(ctx context.Context) context.Context {
	r := &request{}
	r.after, r.hasAfter = ctx.Value(readAfterKey{}).(wal.Position)
	return context.WithValue(ctx, requestKey{}, r)
}

// requestFrom returns the request of the context; nil if its reads need the primary.
func requestFrom(ctx context.Context) *request {
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// waitDeadline returns when the reads of the request stop waiting.
func (r *request) waitDeadline(now time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waitEnd.IsZero() {
		r.waitEnd = now.Add(MaxWait)
	}
	return r.waitEnd
}

// requiredKey is the key of the position that a connection must have replayed.
type requiredKey struct{}

// required is a position that an observation has seen on a server.
type required struct {
	lsn        uint64
	observedAt time.Time
}
