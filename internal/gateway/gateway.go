// Package gateway defines Request: what the shared middleware of the HTTP server offers
// the REST and GraphQL handlers for one request (authentication, rate limits, body
// limits, logging). REST and GraphQL do not import each other.
package gateway

import (
	"context"
	"errors"
	"io"

	"parapet/model"
)

// Request is one HTTP request as the shared middleware prepared it. Its functions must be
// called from the handler's goroutine, except LogCause, which is safe for concurrent use.
type Request struct {
	// RequestID is the X-Request-Id of the answer.
	RequestID string
	// Authenticate verifies the bearer token of the Authorization header and applies the
	// caller's rate limit. It sets the rate-limit and challenge headers. Errors:
	// token_missing, token_invalid, token_expired, insufficient_scope, rate_limited,
	// unavailable.
	Authenticate func(context.Context) (model.Actor, error)
	// AuthenticateWith is Authenticate for an Authorization value that arrived another
	// way: a browser can send it only in a WebSocket message.
	AuthenticateWith func(ctx context.Context, authorization string) (model.Actor, error)
	// SetActor records the caller for the log when a handler identified it without a
	// token (operator sessions).
	SetActor func(model.Actor)
	// WithoutDeadline returns a context without the request timeout and the database
	// watchdog, for streams. It ends when the caller disconnects.
	WithoutDeadline func(context.Context) (context.Context, context.CancelFunc)
	// PublicError maps an error to the one that the caller may see.
	PublicError func(context.Context, error) *model.Error
	// SetErrorHeaders writes the headers that tell what to do about a refusal, such as when to come
	// again. It must come before the answer begins.
	SetErrorHeaders func(*model.Error)
	// MarkReplayed says in the answer's headers that it is the first answer again. It must
	// come before the answer begins.
	MarkReplayed func()
	// LimitBodyTime sets a read deadline for the request body; the returned function
	// removes it.
	LimitBodyTime func() (lift func())
	// OpenBody is the request's body of at most limit bytes, charged against the budget
	// of its caller. Errors: body_too_large, rate_limited.
	OpenBody func(limit int64) (io.Reader, error)
	// GiveUpBody throws away what is still to come of a body that is refused.
	GiveUpBody func()
	// IncompleteBody is the caller's error for a body that could not be read.
	IncompleteBody func(cause error) error
	// LogCause adds an internal cause to the request's log line. The response itself
	// already reports the failure.
	LogCause func(cause error)
}

type requestKey struct{}

type operationKey struct{}

// WithOperation names the GraphQL field or REST operation that failed, for the audit log.
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
