// Package gateway defines Request: what the shared middleware of the HTTP server offers
// the REST and GraphQL handlers for one request (authentication, rate limits, body
// limits, logging). REST and GraphQL do not import each other.
package gateway

import (
	"context"
	"errors"
	"io"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
)

// Request is one HTTP request as the shared middleware prepared it. Its functions must be
// called from the handler's goroutine, except LogCause and RecordCall, which are safe for concurrent use.
type Request struct {
	// RequestID is the X-Request-Id of the response.
	RequestID string
	// Authenticate verifies the bearer token of the Authorization header and applies the
	// caller's rate limit. It sets the rate-limit and challenge headers. Errors:
	// token_missing, token_invalid, token_expired, insufficient_scope, rate_limited,
	// unavailable.
	Authenticate func(context.Context) (actor.Actor, error)
	// AuthenticateWith is Authenticate for an Authorization value from elsewhere: a
	// browser can send it only in a WebSocket message.
	AuthenticateWith func(ctx context.Context, authorization string) (actor.Actor, error)
	// SetActor records the caller for the log when a handler identified it without a
	// token (operator sessions).
	SetActor func(actor.Actor)
	// WithoutDeadline returns a context without the request timeout and the database
	// watchdog, for streams. It ends when the caller disconnects.
	WithoutDeadline func(context.Context) (context.Context, context.CancelFunc)
	// PublicError maps an error to the one that the caller may see.
	PublicError func(context.Context, error) *apperr.Error
	// SetErrorHeaders writes the headers that state what to do after an error, such as
	// when to retry. Call it before the response begins.
	SetErrorHeaders func(*apperr.Error)
	// MarkReplayed sets the header that marks a replayed response. Call it before the
	// response begins.
	MarkReplayed func()
	// LimitBodyTime sets a read deadline for the request body; the returned function
	// removes it.
	LimitBodyTime func() (lift func())
	// OpenBody returns a reader of at most limit bytes of the body, charged to the
	// caller's budget. Errors: body_too_large, rate_limited.
	OpenBody func(limit int64) (io.Reader, error)
	// GiveUpBody discards the rest of a rejected body.
	GiveUpBody func()
	// IncompleteBody returns the caller's error for a body that could not be read.
	IncompleteBody func(cause error) error
	// RecordCall adds a GraphQL field that changed something, or failed with refusal, to the
	// caller's log of calls.
	RecordCall func(operation string, refusal *apperr.Error)
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

// Operation returns the operation set by WithOperation; empty without one.
func Operation(ctx context.Context) string {
	operation, _ := ctx.Value(operationKey{}).(string)
	return operation
}

// CallerLeft reports whether a request's context ended because the caller left. If the
// server itself gave up (timeout, lost database), the context's cause is
// context.DeadlineExceeded.
func CallerLeft(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded)
}

// NewContext adds the request to the context.
func NewContext(ctx context.Context, request *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, request)
}

// FromContext returns the request; nil if it did not pass through the shared middleware.
func FromContext(ctx context.Context) *Request {
	request, _ := ctx.Value(requestKey{}).(*Request)
	return request
}
