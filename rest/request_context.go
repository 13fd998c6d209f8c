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

	"parapet/internal/refusal"
	"parapet/internal/upload"
	"parapet/model"
)

// call is one request and its answer. It is the ResponseWriter of its request,
// so that whoever answers, the log knows what was said.
type call struct {
	http.ResponseWriter

	request    *http.Request   // with the short base address; path values are set
	instance   string          // the path as it was called
	base       string          // the base address as it was called
	began      time.Time       // zero without a clock
	id         string          // X-Request-Id
	trace      place           // traceparent
	route      *route          // nil until one was found
	actor      model.Actor     // who asks; zero until authenticated
	query      *query          // what was asked besides; nil until read
	connection context.Context //nolint:containedctx // of the connection, before a request's time bounds it
	unbound    func()          // nobody watches any more how long it takes
	readWithin time.Duration   // an answer, once it has begun
	lasts      bool            // the answer has no end
	status     int             // 0 until the answer has begun
	cause      error           // why it failed, for the log
	whole      bool            // the answer itself tells of its failure, whatever its status
	cutShort   bool            // the connection ended before the request's body did
	budget     *upload.Budget  // of bodies that are received at once; nil without one
	charge     *upload.Charge  // what the body took of it
	uploaded   *upload.Body    // with the content that a document's body carries; nil for most
	counted    bool            // the rate limit of the caller's address has counted it
}

func newCall(w http.ResponseWriter, r *http.Request) *call {
	c := &call{ResponseWriter: w, request: r, instance: r.URL.EscapedPath(), id: requestID(r), trace: traceOf(r), connection: r.Context()}
	c.Header().Set("X-Request-Id", c.id)
	c.Header().Set("Traceparent", c.trace.String())
	c.Header().Set("X-Content-Type-Options", "nosniff")
	c.Header().Set("Cache-Control", "no-store") // pages and documents say otherwise
	return c
}

const maxRequestID = 128

// requestID is the caller's, when it can be logged safely, or a new one.
func requestID(r *http.Request) string {
	given := r.Header.Values("X-Request-Id")
	if len(given) == 1 && len(given[0]) <= maxRequestID && visible(given[0]) {
		return given[0]
	}
	return uuid.Must(uuid.NewV7()).String()
}

// visible tells whether s is one or more visible ASCII characters.
func visible(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '!' || r > '~' }) < 0
}

// WriteHeader remembers the status.
func (c *call) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
		c.boundReading()
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write begins the answer when nothing did.
func (c *call) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
		c.boundReading()
	}
	return c.ResponseWriter.Write(p) //nolint:gosec // every answer names its type, and none is a page made of what a caller said
}

// Unwrap lets http.ResponseController through.
func (c *call) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// path is the value of a path parameter.
func (c *call) path(name string) string { return c.request.PathValue(name) }

// ServeHTTP answers one request within answerTimeout and what it asks to wait for,
// whatever happens, and writes its line of log.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout+granted(r))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	unwatch := d.watch(ctx, giveUp)
	defer unwatch()
	c := newCall(w, r)
	c.unbound = unwatch
	c.budget = d.Bodies
	c.readWithin = cmp.Or(d.ReadWithin, readTimeout)
	if len(r.TransferEncoding) > 0 && r.ProtoMajor == 1 {
		// net/http takes away a Content-Length beside it, so that nobody can see whether there
		// was one: what follows on such a connection cannot be trusted (RFC 9112 section 6.1).
		c.Header().Set("Connection", "close")
	}
	if d.Now != nil {
		c.began = d.Now()
	}
	ctx, ended := d.span(ctx, c, r)
	defer c.done()
	defer func() {
		panicked := recover()
		if panicked != nil {
			d.survive(ctx, c, panicked)
		}
		d.log(ctx, c)
		ended()
		if c.aborted() {
			panic(http.ErrAbortHandler) // cut the connection: half an answer must not look whole
		}
	}()
	d.dispatch(ctx, c, r)
}

// survive answers a panic with an id and nothing else.
func (d *door) survive(ctx context.Context, c *call, panicked any) {
	d.refuse(ctx, c, refusal.Recovered(panicked))
}

// statusCallerLeft is the status under which requests are counted and logged whose
// caller left before the answer was complete. It is nginx's number, and never sent.
const statusCallerLeft = 499

// callerLeft reports whether the caller left before the answer was complete. A panic
// is a fault whoever left, and an answer that did not fail keeps its own status.
func (c *call) callerLeft() bool {
	failed := c.status == 0 || c.status >= http.StatusInternalServerError || c.cause != nil
	var panicked *refusal.Panic
	return c.cutShort || failed && c.connection.Err() != nil && !errors.As(c.cause, &panicked)
}

// outcome is the status under which the request is counted.
func (c *call) outcome() int {
	if c.callerLeft() {
		return statusCallerLeft
	}
	return c.status
}

// took is how long the call took, where there is a clock; the meter hears of it.
func (d *door) took(c *call) slog.Attr {
	if d.Now == nil {
		return slog.Attr{}
	}
	took := d.Now().Sub(c.began)
	if d.Meter != nil {
		d.Meter(c.pattern(), c.request.Method, c.outcome(), took)
	}
	return slog.Duration("duration", took)
}

// log writes the request's one line: who, what and how it ended, never what was
// said.
func (d *door) log(ctx context.Context, c *call) {
	level, attributes := slog.LevelInfo, []slog.Attr{
		slog.String("method", c.request.Method),
		slog.String("route", c.pattern()),
		slog.Int("status", c.outcome()),
		d.took(c),
		slog.String("request_id", c.id),
		slog.String("trace_id", c.trace.id),
		slog.String("partner", c.actor.Partner),
		slog.String("client", c.actor.Client),
	}
	if c.cause != nil {
		level, attributes = slog.LevelError, append(attributes, slog.Any("error", c.cause))
	}
	if c.callerLeft() { // neither a failure of ours nor worth a line where many leave
		level = slog.LevelDebug
	}
	d.Log.LogAttrs(context.WithoutCancel(ctx), level, "request", attributes...)
}

// pattern is the route's template: ids would make every line its own kind.
func (c *call) pattern() string {
	if c.route == nil {
		return "none"
	}
	return c.route.path
}
