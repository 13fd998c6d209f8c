package rest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"parapet/internal/errormap"
	"parapet/internal/upload"
	"parapet/model"
)

// requestContext is one request and its response. It is the request's ResponseWriter, so
// that the log knows the status whoever wrote it -> "…, so that status and size are
// logged for every handler.".
type requestContext struct {
	http.ResponseWriter

	request          *http.Request   // with the short base address; path values are set
	instance         string          // the path as it was called
	basePath         string          // the base address as it was called
	startedAt        time.Time       // zero without a clock
	requestID        string          // X-Request-Id
	traceContext     traceContext    // traceparent
	route            *route          // nil until one was found
	actor            model.Actor     // who asks; zero until authenticated
	query            *query          // what was asked besides; nil until read
	connectionCtx    context.Context //nolint:containedctx // of the connection, before a request's time bounds it
	stopWatchdog     func()          // nobody watches any more how long it takes
	writeTimeout     time.Duration   // an answer, once it has begun
	unlimitedTime    bool            // the answer has no end
	status           int             // 0 until the answer has begun
	cause            error           // why it failed, for the log
	failureReported  bool            // the answer itself tells of its failure, whatever its status
	bodyTruncated    bool            // the connection ended before the request's body did
	budget           *upload.Budget  // of bodies that are received at once; nil without one
	budgetCharge     *upload.Charge  // what the body took of it
	uploaded         *upload.Body    // with the content that a document's body carries; nil for most
	countedByAddress bool            // the rate limit of the caller's address has counted it
}

func newRequestContext(w http.ResponseWriter, r *http.Request) *requestContext {
	c := &requestContext{ResponseWriter: w, request: r, instance: r.URL.EscapedPath(), requestID: requestID(r), traceContext: parseTraceContext(r), connectionCtx: r.Context()}
	c.Header().Set("X-Request-Id", c.requestID)
	c.Header().Set("Traceparent", c.traceContext.String())
	c.Header().Set("X-Content-Type-Options", "nosniff")
	c.Header().Set("Cache-Control", "no-store") // pages and documents say otherwise
	return c
}

const maxRequestID = 128

// requestID is the caller's, when it can be logged safely, or a new one.
func requestID(r *http.Request) string {
	given := r.Header.Values("X-Request-Id")
	if len(given) == 1 && len(given[0]) <= maxRequestID && isVisibleASCII(given[0]) {
		return given[0]
	}
	return uuid.Must(uuid.NewV7()).String()
}

// isVisibleASCII tells whether s is one or more visible ASCII characters.
func isVisibleASCII(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '!' || r > '~' }) < 0
}

// WriteHeader remembers the status.
func (c *requestContext) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
		c.limitWriteTime()
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write begins the answer when nothing did.
func (c *requestContext) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
		c.limitWriteTime()
	}
	return c.ResponseWriter.Write(p) //nolint:gosec // every answer names its type, and none is a page made of what a caller said
}

// Unwrap lets http.ResponseController through.
func (c *requestContext) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// pathParam is the value of a path parameter.
func (c *requestContext) pathParam(name string) string { return c.request.PathValue(name) }

// ServeHTTP answers one request within requestTimeout and what it asks to wait for,
// whatever happens, and writes its line of log.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout+requestedWait(r))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	unwatch := s.cancelWhenDatabaseLost(ctx, giveUp)
	defer unwatch()
	c := newRequestContext(w, r)
	c.stopWatchdog = unwatch
	c.budget = s.BodyBudget
	c.writeTimeout = cmp.Or(s.WriteTimeout, defaultWriteTimeout)
	if len(r.TransferEncoding) > 0 && r.ProtoMajor == 1 {
		// net/http takes away a Content-Length beside it, so that nobody can see whether there
		// was one: what follows on such a connection cannot be trusted (RFC 9112 section 6.1).
		c.Header().Set("Connection", "close")
	}
	if s.Now != nil {
		c.startedAt = s.Now()
	}
	ctx, ended := s.startSpan(ctx, c, r)
	defer c.releaseBody()
	defer func() {
		panicked := recover()
		if panicked != nil {
			s.handlePanic(ctx, c, panicked)
		}
		s.logRequest(ctx, c)
		ended()
		if c.mustAbort() {
			panic(http.ErrAbortHandler) // cut the connection: half an answer must not look whole
		}
	}()
	s.routeRequest(ctx, c, r)
}

// handlePanic answers a panic with an id and nothing else.
func (s *server) handlePanic(ctx context.Context, c *requestContext, panicked any) {
	s.writeProblem(ctx, c, errormap.NewPanic(panicked))
}

// statusCallerLeft is the status under which requests are counted and logged whose
// caller left before the answer was complete. It is nginx's number, and never sent.
const statusCallerLeft = 499

// hasCallerLeft reports whether the caller left before the answer was complete. A panic
// is a fault whoever left, and an answer that did not fail keeps its own status.
func (c *requestContext) hasCallerLeft() bool {
	failed := c.status == 0 || c.status >= http.StatusInternalServerError || c.cause != nil
	var panicked *errormap.Panic
	return c.bodyTruncated || failed && c.connectionCtx.Err() != nil && !errors.As(c.cause, &panicked)
}

// countedStatus is the status under which the request is counted.
func (c *requestContext) countedStatus() int {
	if c.hasCallerLeft() {
		return statusCallerLeft
	}
	return c.status
}

// observeDuration is how long the call took, where there is a clock; the meter hears of it.
func (s *server) observeDuration(c *requestContext) slog.Attr {
	if s.Now == nil {
		return slog.Attr{}
	}
	took := s.Now().Sub(c.startedAt)
	if s.ObserveRequest != nil {
		s.ObserveRequest(c.routePattern(), c.request.Method, c.countedStatus(), took)
	}
	return slog.Duration("duration", took)
}

// logRequest writes the request's one line: who, what and how it ended, never what was
// said.
func (s *server) logRequest(ctx context.Context, c *requestContext) {
	level, attributes := slog.LevelInfo, []slog.Attr{
		slog.String("method", c.request.Method),
		slog.String("route", c.routePattern()),
		slog.Int("status", c.countedStatus()),
		s.observeDuration(c),
		slog.String("request_id", c.requestID),
		slog.String("trace_id", c.traceContext.traceID),
		slog.String("partner", c.actor.Partner),
		slog.String("client", c.actor.Client),
	}
	if c.cause != nil {
		level, attributes = slog.LevelError, append(attributes, slog.Any("error", c.cause))
	}
	if c.hasCallerLeft() { // neither a failure of ours nor worth a line where many leave
		level = slog.LevelDebug
	}
	s.Log.LogAttrs(context.WithoutCancel(ctx), level, "request", attributes...)
}

// routePattern is the route's template: ids would make every line its own kind.
func (c *requestContext) routePattern() string {
	if c.route == nil {
		return "none"
	}
	return c.route.path
}
