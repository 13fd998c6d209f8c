// Package gateway is what the front of the server knows of a request, for the door
// that answers it. Doors do not know each other, and what happens before any of
// them decides something must be the same for all.
package gateway

import (
	"context"
	"errors"
	"io"

	"parapet/model"
)

// Request is one request on its way to a door.
type Request struct {
	// RequestID is the X-Request-Id of the answer.
	RequestID string
	// Authenticate finds out who asks, by the token in the request's header, and whether
	// not too often. It writes the headers that tell so. Errors: token_missing,
	// token_invalid, token_expired, insufficient_scope, rate_limited, unavailable.
	Authenticate func(context.Context) (model.Actor, error)
	// AuthenticateWith is Admit by the value of an Authorization header that came another way:
	// a browser's WebSocket can bring it in a message only.
	AuthenticateWith func(ctx context.Context, authorization string) (model.Actor, error)
	// SetActor names who asks, where a door found out in another way than by a token.
	SetActor func(model.Actor)
	// WithoutDeadline lifts the front's bounds of time from a request that goes on for as long
	// as its caller wants. The context it returns ends when the caller leaves.
	WithoutDeadline func(context.Context) (context.Context, context.CancelFunc)
	// PublicError is an error as it may be shown.
	PublicError func(context.Context, error) *model.Error
	// SetErrorHeaders writes the headers that tell what to do about a refusal, such as when to come
	// again. It must come before the answer begins.
	SetErrorHeaders func(*model.Error)
	// MarkReplayed says in the answer's headers that it is the first answer again. It must
	// come before the answer begins.
	MarkReplayed func()
	// LimitBodyTime bounds the arrival of the request's body; what it returns lifts the
	// bound.
	LimitBodyTime func() (lift func())
	// OpenBody is the request's body of at most limit bytes, charged against the budget
	// of its caller. Errors: body_too_large, rate_limited.
	OpenBody func(limit int64) (io.Reader, error)
	// GiveUpBody throws away what is still to come of a body that is refused.
	GiveUpBody func()
	// IncompleteBody is the caller's error for a body that could not be read.
	IncompleteBody func(cause error) error
	// LogCause tells the request's line of log why something failed on our side. The
	// answer says itself that it did.
	LogCause func(cause error)
}

type requestKey struct{}

type operationKey struct{}

// WithOperation names which operation of a door failed, for Shown.
func WithOperation(ctx context.Context, operation string) context.Context {
	return context.WithValue(ctx, operationKey{}, operation)
}

// Operation is what Doing named; empty when nothing was.
func Operation(ctx context.Context) string {
	operation, _ := ctx.Value(operationKey{}).(string)
	return operation
}

// CallerLeft reports whether a request's context ended because nobody waits for the
// answer any more. A request that the server itself gave up (its time is over, the
// database is silent) has a cause that is context.DeadlineExceeded.
func CallerLeft(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// NewContext hands a visit on.
func NewContext(ctx context.Context, request *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, request)
}

// FromContext is the visit of a request; nil when it did not come through the front.
func FromContext(ctx context.Context) *Request {
	request, _ := ctx.Value(requestKey{}).(*Request)
	return request
}
