package jobs

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"parapet/internal/tracing"
)

// traceMetadata returns the job metadata that holds the current trace position.
func traceMetadata(ctx context.Context) []byte {
	parent := tracing.Traceparent(ctx)
	if parent == "" {
		return nil
	}
	metadata, err := json.Marshal(map[string]string{tracing.HeaderName: parent})
	if err != nil {
		return nil // marshalling two strings cannot fail
	}
	return metadata
}

// jobTracer continues the trace that enqueued a job. River's own tracing library would
// begin a new trace.
type jobTracer struct {
	river.MiddlewareDefaults

	tracer trace.Tracer
}

// Work implements rivertype.WorkerMiddleware.
func (s *jobTracer) Work(ctx context.Context, job *rivertype.JobRow, next func(context.Context) error) error {
	if s.tracer == nil {
		return next(ctx)
	}
	var metadata struct {
		Place string `json:"traceparent"`
	}
	if json.Unmarshal(job.Metadata, &metadata) != nil || metadata.Place == "" {
		return next(ctx) // periodic jobs have no trace
	}
	ctx, current := s.tracer.Start(tracing.ContinueTrace(ctx, metadata.Place), "job "+job.Kind, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attribute.Int64("parapet.job", job.ID), attribute.Int("parapet.attempt", job.Attempt)))
	defer current.End()
	err := next(ctx)
	if err != nil {
		current.SetStatus(codes.Error, "") // the error text goes only to our log; the collector may be external
	}
	return err
}

// startSpan starts a span; ended ends it. Without a tracer it does nothing.
func startSpan(ctx context.Context, tracer trace.Tracer, name string, kind trace.SpanKind, about ...attribute.KeyValue) (spanned context.Context, ended func()) {
	if tracer == nil {
		return ctx, func() {}
	}
	ctx, current := tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(about...))
	return ctx, func() { current.End() }
}
