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

// place is this request's place in a trace, as W3C Trace Context 1 writes it.
type place struct {
	id    string // 32 hexadecimal digits, the same for everything one request caused
	span  string // 16, ours
	flags string // 2, the caller's choice whether to record
}

// String is the traceparent header.
func (t place) String() string { return "00-" + t.id + "-" + t.span + "-" + t.flags }

// traceOf continues the caller's trace, or begins one where there is none that
// can be read: a broken header must not cost anybody an answer.
func traceOf(r *http.Request) place {
	var random [24]byte
	_, _ = rand.Read(random[:]) // never fails
	fresh := hex.EncodeToString(random[:])
	t := place{id: fresh[:32], span: fresh[32:], flags: "00"}
	given := r.Header.Values("Traceparent")
	if len(given) != 1 {
		return t
	}
	parts := strings.Split(given[0], "-")
	if len(parts) < 4 || !digits(parts[0], 2) || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 ||
		!digits(parts[1], 32) || !digits(parts[2], 16) || !digits(parts[3], 2) ||
		strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return t
	}
	t.id = parts[1]
	if strings.ContainsRune("13579bdf", rune(parts[3][1])) { // of the flags, sampled is the one that is defined
		t.flags = "01"
	}
	return t
}

// digits tells whether s is n lower-case hexadecimal digits.
func digits(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

// span records the request where there is a tracer; the answer then names the
// span's own place in the trace.
func (d *door) span(ctx context.Context, c *call, r *http.Request) (spanned context.Context, ended func()) {
	if d.Tracer == nil {
		return ctx, func() {}
	}
	if given := r.Header.Values("Traceparent"); len(given) == 1 {
		ctx = tracing.Continue(ctx, given[0])
	}
	ctx, span := d.Tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	own := span.SpanContext()
	c.trace = place{id: own.TraceID().String(), span: own.SpanID().String(), flags: own.TraceFlags().String()}
	c.Header().Set("Traceparent", c.trace.String())
	return ctx, func() {
		span.SetName(r.Method + " " + c.pattern())
		span.SetAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", c.pattern()),
			attribute.Int("http.response.status_code", c.outcome()), attribute.String("parapet.request_id", c.id))
		if c.outcome() >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
