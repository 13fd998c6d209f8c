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
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/wal"
)

// requestContext is one request and its response. It is the request's ResponseWriter, so
// that status and size are logged for every handler.
type requestContext struct {
	http.ResponseWriter

	request          *http.Request   // with the short base address and path values
	instance         string          // path as it was called
	basePath         string          // base address as it was called
	startedAt        time.Time       // zero without a clock
	requestID        string          // X-Request-Id
	traceContext     traceContext    // traceparent
	route            *route          // nil until a route was found
	actor            actor.Actor     // the caller; zero until authenticated
	query            *query          // query parameters; nil until parsed
	connectionCtx    context.Context //nolint:containedctx // of the connection, without the request's timeout
	stopWatchdog     func()          // stops the database watchdog of the request
	setWaiting       func(bool)      // pauses it while the request waits for an event
	writeTimeout     time.Duration   // limit for reading the response once it has begun
	unlimitedTime    bool            // the response is a stream
	status           int             // 0 until the response has begun
	refusal          *apperr.Error   // the problem of the response; nil for a success
	calls            []recordedCall  // fields of a GraphQL request that changed something or failed
	cause            error           // internal cause of an error, for the log
	failureReported  bool            // the response itself reports its failure, in any status
	bodyTruncated    bool            // the connection ended before the request's body did
	budget           *upload.Budget  // of concurrently received bodies; nil without a limit
	budgetCharge     *upload.Charge  // part of the budget that the body uses
	uploaded         *upload.Body    // with the content of a document's body; nil for most
	readToEnd        bool            // the answer is the last page of several
	countedByAddress bool            // the rate limit of the caller's address has counted it
	commits          wal.Recorder    // of the request's transactions
}

func newRequestContext(w http.ResponseWriter, r *http.Request) *requestContext {
	c := &requestContext{ResponseWriter: w, request: r, instance: r.URL.EscapedPath(), requestID: requestID(r), traceContext: parseTraceContext(r), connectionCtx: r.Context()}
	c.Header().Set("X-Request-Id", c.requestID)
	c.Header().Set("Traceparent", c.traceContext.String())
	c.Header().Set("X-Content-Type-Options", "nosniff")
	c.Header().Set("Cache-Control", "no-store") // pages and documents replace it
	return c
}

const maxRequestID = 128

// requestID returns the caller's X-Request-Id if it is safe to log, otherwise a new one.
func requestID(r *http.Request) string {
	given := r.Header.Values("X-Request-Id")
	if len(given) == 1 && len(given[0]) <= maxRequestID && isVisibleASCII(given[0]) {
		return given[0]
	}
	return uuid.Must(uuid.NewV7()).String()
}

// isVisibleASCII reports whether s is one or more visible ASCII characters.
func isVisibleASCII(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '!' || r > '~' }) < 0
}

// WriteHeader records the status.
func (c *requestContext) WriteHeader(status int) {
	c.beginResponse(status)
	c.ResponseWriter.WriteHeader(status)
}

// beginResponse records the status and sets the last headers of a response that has not
// begun.
func (c *requestContext) beginResponse(status int) {
	if c.status != 0 {
		return
	}
	c.status = status
	c.limitWriteTime()
	if position, ok := c.commits.Last(); ok && status < http.StatusMultipleChoices { // a refused request wrote nothing
		c.Header().Set(readAfterHeader, position.String())
	}
}

// Write begins the response if it has not begun.
func (c *requestContext) Write(p []byte) (int, error) {
	c.beginResponse(http.StatusOK)
	return c.ResponseWriter.Write(p) //nolint:gosec // every response names its type, and none is a page made of a caller's input
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (c *requestContext) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// pathParam returns the value of a path parameter.
func (c *requestContext) pathParam(name string) string { return c.request.PathValue(name) }

// ServeHTTP answers one request within requestTimeout plus its requested wait, and writes
// its log line.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout+requestedWait(r))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	c := newRequestContext(w, r)
	c.stopWatchdog, c.setWaiting = s.watchDatabase(giveUp) //nolint:contextcheck // one ping serves all slow requests
	defer c.stopWatchdog()
	c.budget = s.BodyBudget
	c.writeTimeout = cmp.Or(s.WriteTimeout, defaultWriteTimeout)
	ctx = wal.WithRecorder(ctx, &c.commits)
	if len(r.TransferEncoding) > 0 && r.ProtoMajor == 1 {
		// net/http removes a Content-Length next to Transfer-Encoding, so its presence
		// cannot be detected. The rest of such a connection cannot be trusted (RFC 9112
		// section 6.1).
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
			panic(http.ErrAbortHandler) // cut the connection: a partial response must not look complete
		}
	}()
	s.routeRequest(ctx, c, r)
}

// handlePanic answers a panic with the request id and no details.
func (s *server) handlePanic(ctx context.Context, c *requestContext, panicked any) {
	s.writeProblem(ctx, c, errormap.NewPanic(panicked))
}

// statusCallerLeft is the status under which requests are counted and logged whose caller
// left before the response was complete. It is nginx's number and is never sent.
const statusCallerLeft = 499

// hasCallerLeft reports whether the caller left before the response was complete. A panic
// is always the server's fault, and a response without failure keeps its status.
func (c *requestContext) hasCallerLeft() bool {
	failed := c.status == 0 || c.status >= http.StatusInternalServerError || c.cause != nil
	var panicked *errormap.Panic
	return c.bodyTruncated || failed && c.connectionCtx.Err() != nil && !errors.As(c.cause, &panicked)
}

// countedStatus returns the status under which the request is counted.
func (c *requestContext) countedStatus() int {
	if c.hasCallerLeft() {
		return statusCallerLeft
	}
	return c.status
}

// observeDuration returns the duration of the request for the log and passes it to
// ObserveRequest. Without a clock it does nothing.
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

// logRequest writes the request's log line: caller, route and status, never the content.
func (s *server) logRequest(ctx context.Context, c *requestContext) {
	s.recordCalls(c)
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
	if c.hasCallerLeft() { // not our failure, and frequent where many callers leave
		level = slog.LevelDebug
	}
	s.Log.LogAttrs(context.WithoutCancel(ctx), level, "request", attributes...)
}

// routePattern returns the route's template, because ids would make every line distinct.
func (c *requestContext) routePattern() string {
	if c.route == nil {
		return "none"
	}
	return c.route.path
}
