// Package visit is what the front of the server knows of a request, for the door
// that answers it. Doors do not know each other, and what happens before any of
// them decides something must be the same for all.
package visit

import (
	"context"
	"errors"
	"io"

	"parapet/model"
)

// Visit is one request on its way to a door.
type Visit struct {
	// RequestID is the X-Request-Id of the answer.
	RequestID string
	// Admit finds out who asks, by the token in the request's header, and whether
	// not too often. It writes the headers that tell so. Errors: token_missing,
	// token_invalid, token_expired, insufficient_scope, rate_limited, unavailable.
	Admit func(context.Context) (model.Actor, error)
	// AdmitBy is Admit by the value of an Authorization header that came another way:
	// a browser's WebSocket can bring it in a message only.
	AdmitBy func(ctx context.Context, authorization string) (model.Actor, error)
	// Known names who asks, where a door found out in another way than by a token.
	Known func(model.Actor)
	// Lasting lifts the front's bounds of time from a request that goes on for as long
	// as its caller wants. The context it returns ends when the caller leaves.
	Lasting func(context.Context) (context.Context, context.CancelFunc)
	// Shown is an error as it may be shown.
	Shown func(context.Context, error) *model.Error
	// Hint writes the headers that tell what to do about a refusal, such as when to come
	// again. It must come before the answer begins.
	Hint func(*model.Error)
	// Replayed says in the answer's headers that it is the first answer again. It must
	// come before the answer begins.
	Replayed func()
	// Hurry bounds the arrival of the request's body; what it returns lifts the
	// bound.
	Hurry func() (lift func())
	// Receive is the request's body of at most limit bytes, charged against the budget
	// of its caller. Errors: body_too_large, rate_limited.
	Receive func(limit int64) (io.Reader, error)
	// GiveUpBody throws away what is still to come of a body that is refused.
	GiveUpBody func()
	// CutOff is the caller's error for a body that could not be read.
	CutOff func(cause error) error
	// Blame tells the request's line of log why something failed on our side. The
	// answer says itself that it did.
	Blame func(cause error)
}

type key struct{}

type doingKey struct{}

// Doing names which operation of a door failed, for Shown.
func Doing(ctx context.Context, operation string) context.Context {
	return context.WithValue(ctx, doingKey{}, operation)
}

// Done is what Doing named; empty when nothing was.
func Done(ctx context.Context) string {
	operation, _ := ctx.Value(doingKey{}).(string)
	return operation
}

// CallerLeft reports whether a request's context ended because nobody waits for the
// answer any more. A request that the server itself gave up (its time is over, the
// database is silent) has a cause that is context.DeadlineExceeded.
func CallerLeft(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// With hands a visit on.
func With(ctx context.Context, v *Visit) context.Context { return context.WithValue(ctx, key{}, v) }

// From is the visit of a request; nil when it did not come through the front.
func From(ctx context.Context) *Visit {
	v, _ := ctx.Value(key{}).(*Visit)
	return v
}
