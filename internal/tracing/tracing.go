// Package tracing sends spans, from a request through its jobs to the call of a
// rail, to an OpenTelemetry collector. It is off, and costs nothing, unless the
// environment names one as OpenTelemetry says (OTEL_EXPORTER_OTLP_ENDPOINT).
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

// instrumentationName is the instrumentation's, and the service's where OTEL_SERVICE_NAME is not
// set.
const instrumentationName = "parapet"

// flushTimeout is how long the end waits for a collector.
const flushTimeout = 5 * time.Second

// NewTracer is a tracer that exports as OTEL_* say; nil where they name no collector.
// Stop it at the end, so that the last spans are sent.
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
		_ = provider.Shutdown(last) // spans that nobody takes are lost, and nothing else
	}, nil
}

// HeaderName is the header of W3C Trace Context, and the member of a job's metadata.
const HeaderName = "traceparent"

// Traceparent is the place in ctx's trace, as the header has it; empty without one.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[HeaderName]
}

// ContinueTrace goes on from a place in a trace; what cannot be read begins another.
func ContinueTrace(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{HeaderName: traceparent})
}
