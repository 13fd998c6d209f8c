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

// traceMetadata is the metadata of a job: where in which trace it was asked for.
func traceMetadata(ctx context.Context) []byte {
	place := tracing.Traceparent(ctx)
	if place == "" {
		return nil
	}
	metadata, err := json.Marshal(map[string]string{tracing.HeaderName: place})
	if err != nil {
		return nil // two texts can be written
	}
	return metadata
}

// jobTracer goes on with the trace of what asked for a job. River's own library would
// begin another.
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
		return next(ctx) // what repeats for ever is nobody's story
	}
	ctx, current := s.tracer.Start(tracing.ContinueTrace(ctx, metadata.Place), "job "+job.Kind, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attribute.Int64("parapet.job", job.ID), attribute.Int("parapet.attempt", job.Attempt)))
	defer current.End()
	err := next(ctx)
	if err != nil {
		current.SetStatus(codes.Error, "") // its text is the log's: a collector is somebody else's
	}
	return err
}

// startSpan is a part of a trace that ended ends; none without a tracer.
func startSpan(ctx context.Context, tracer trace.Tracer, name string, kind trace.SpanKind, about ...attribute.KeyValue) (spanned context.Context, ended func()) {
	if tracer == nil {
		return ctx, func() {}
	}
	ctx, current := tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(about...))
	return ctx, func() { current.End() }
}
