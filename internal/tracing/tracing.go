// Package tracing sends spans to an OpenTelemetry collector, from a request through its
// jobs to the call of a rail. It is off, at no cost, unless the environment names a
// collector (OTEL_EXPORTER_OTLP_ENDPOINT).
package tracing

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// instrumentationName is the name of the instrumentation, and of the service if
// OTEL_SERVICE_NAME is not set.
const instrumentationName = "parapet"

// flushTimeout limits the wait for the collector at shutdown.
const flushTimeout = 5 * time.Second

// NewTracer returns a tracer that exports as the OTEL_* variables say; nil if they name
// no collector. Call stop at the end to send the last spans.
func NewTracer(ctx context.Context) (tracer trace.Tracer, stop func(), err error) {
	stop = func() {}
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" ||
		strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, stop, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, stop, fmt.Errorf("traces: %w", err)
	}
	about := resource.NewSchemaless()
	if own, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK()); err == nil {
		about = own
	}
	provider := sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithBatcher(exporter))
	return provider.Tracer(instrumentationName), func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		_ = provider.Shutdown(last) // a failure only loses the last spans
	}, nil
}

// HeaderName is the header of W3C Trace Context, and the member of a job's metadata.
const HeaderName = "traceparent"

// Traceparent returns the position in ctx's trace as a traceparent header; empty without
// a trace.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[HeaderName]
}

// ContinueTrace continues a trace from a position; an unreadable one begins a new trace.
func ContinueTrace(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{HeaderName: traceparent})
}
