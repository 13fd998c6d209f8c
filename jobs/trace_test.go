package jobs

import (
	"context"
	"net/http"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"parapet/internal/tracing"
	"parapet/jobs/rail"
	"parapet/model/payouts"
)

// One trace leads from the request that enqueued a job through the job to the rail, which
// receives its position.
func TestRailReceivesTraceparent(t *testing.T) {
	t.Parallel()
	s, bank := newFixture(t), openBank(t)
	var heard []string
	bank.SetBehaviour(func(_ http.ResponseWriter, r *http.Request, do func()) {
		heard = r.Header.Values(tracing.HeaderName)
		do()
	}, nil, nil)
	_, job := s.createPendingPayout(numberFor(rail.Accept))
	ended := tracetest.NewSpanRecorder()
	tracer := sdk.NewTracerProvider(sdk.WithSpanProcessor(ended)).Tracer("test")
	worker := &releasePayout{service: s.Service, rail: bank.newRail(), log: s.newLogger(), tracer: tracer}
	asked := &rivertype.JobRow{Kind: job.Kind(), Metadata: []byte(`{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`)}
	err := (&jobTracer{tracer: tracer}).Work(t.Context(), asked, func(ctx context.Context) error {
		return worker.Work(ctx, &river.Job[payouts.ReleasePayout]{Args: job})
	})
	require.NoError(t, err)
	require.Equal(t, "released", s.readPayout(job).Status)
	spans := ended.Ended()
	require.Len(t, spans, 2)
	call, work := spans[0], spans[1]
	require.Equal(t, "rail http", call.Name())
	require.Equal(t, work.SpanContext().SpanID(), call.Parent().SpanID())
	require.Equal(t, "b7ad6b7169203331", work.Parent().SpanID().String())
	require.Equal(t, []string{"00-0af7651916cd43dd8448eb211c80319c-" + call.SpanContext().SpanID().String() + "-01"}, heard)
}

// The rail receives no traceparent with a payout that has no trace.
func TestRailReceivesNoTraceparentWithoutTrace(t *testing.T) {
	t.Parallel()
	s, bank := newFixture(t), openBank(t)
	heard := []string{"nothing was sent"}
	bank.SetBehaviour(func(_ http.ResponseWriter, r *http.Request, do func()) {
		heard = r.Header.Values(tracing.HeaderName)
		do()
	}, nil, nil)
	_, job := s.createPendingPayout(numberFor(rail.Accept))
	require.NoError(t, s.runReleaseWith(bank.newRail(), job))
	require.Empty(t, heard)
}
