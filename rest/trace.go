package rest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"parapet/internal/tracing"
)

// traceContext is this request's position in a trace, in the form of W3C Trace Context 1.
type traceContext struct {
	traceID string // 32 hexadecimal digits, the same for the whole trace
	spanID  string // 16 digits, ours
	flags   string // 2 digits: the caller's sampling decision
}

// String returns the traceparent header.
func (t traceContext) String() string { return "00-" + t.traceID + "-" + t.spanID + "-" + t.flags }

// parseTraceContext continues the caller's trace, or begins a new one without a readable
// header: a broken header must not fail a request.
func parseTraceContext(r *http.Request) traceContext {
	var random [24]byte
	_, _ = rand.Read(random[:]) // never fails
	fresh := hex.EncodeToString(random[:])
	t := traceContext{traceID: fresh[:32], spanID: fresh[32:], flags: "00"}
	given := r.Header.Values("Traceparent")
	if len(given) != 1 {
		return t
	}
	parts := strings.Split(given[0], "-")
	if len(parts) < 4 || !isLowerHex(parts[0], 2) || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 ||
		!isLowerHex(parts[1], 32) || !isLowerHex(parts[2], 16) || !isLowerHex(parts[3], 2) ||
		strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return t
	}
	t.traceID = parts[1]
	if strings.ContainsRune("13579bdf", rune(parts[3][1])) { // sampled is the only defined flag
		t.flags = "01"
	}
	return t
}

// isLowerHex reports whether s is n lower-case hexadecimal digits.
func isLowerHex(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// startSpan records the request if there is a tracer; the response then carries the
// span's own position in the trace.
func (s *server) startSpan(ctx context.Context, c *requestContext, r *http.Request) (spanned context.Context, ended func()) {
	if s.Tracer == nil {
		return ctx, func() {}
	}
	if given := r.Header.Values("Traceparent"); len(given) == 1 {
		ctx = tracing.ContinueTrace(ctx, given[0])
	}
	ctx, span := s.Tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	own := span.SpanContext()
	c.traceContext = traceContext{traceID: own.TraceID().String(), spanID: own.SpanID().String(), flags: own.TraceFlags().String()}
	c.Header().Set("Traceparent", c.traceContext.String())
	return ctx, func() {
		span.SetName(r.Method + " " + c.routePattern())
		span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", c.routePattern()),
			attribute.Int("http.response.status_code", c.countedStatus()), attribute.String("parapet.request_id", c.requestID))
		if c.countedStatus() >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
