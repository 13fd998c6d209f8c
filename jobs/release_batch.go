package jobs

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"parapet/jobs/rail"
	"parapet/model"
)

// releaseBatchSize is how many payouts go out in one transaction through a rail that takes
// slices.
const releaseBatchSize = 500

// maxBatchesPerJob is how many slices a job sends before it makes room for others: a few
// seconds' work.
const maxBatchesPerJob = 20

// releaseBatch sends what is due through a rail that takes slices. It calls nobody:
// what the bank gets is written later from what was entered here.
type releaseBatch struct {
	river.WorkerDefaults[model.ReleaseBatch]

	service *model.Service
	rail    rail.Rail
	log     *slog.Logger
	tracer  trace.Tracer // nil makes no spans
}

// Work implements river.Worker. It goes on while slices are full.
func (w *releaseBatch) Work(ctx context.Context, _ *river.Job[model.ReleaseBatch]) error {
	to, takes := w.rail.(rail.BatchRail)
	if !takes {
		return nil // the rail was changed meanwhile; the sweep sends each by itself
	}
	for range maxBatchesPerJob {
		taken, err := w.releaseDueBatch(ctx, to)
		if err != nil || taken < releaseBatchSize {
			return err
		}
	}
	return river.JobSnooze(0)
}

func (w *releaseBatch) releaseDueBatch(ctx context.Context, to rail.BatchRail) (int, error) {
	ctx, done := startSpan(ctx, w.tracer, "rail "+to.Name(), trace.SpanKindInternal, attribute.Int("parapet.most", releaseBatchSize))
	defer done()
	var orders []*model.Release
	taken, ended, err := w.service.ReleaseBatch(ctx, IdentityOf(to), releaseBatchSize, func(ctx context.Context, conn *pgx.Conn, going []*model.Release) ([]model.RailAnswer, error) {
		orders = going
		instructions := make([]rail.Instruction, len(orders))
		for i, order := range orders {
			instructions[i] = toInstruction(order)
		}
		results, err := to.Submit(ctx, conn, instructions)
		if err != nil {
			return nil, err
		}
		answers := make([]model.RailAnswer, len(orders))
		for i, order := range orders {
			answers[i] = observeResult(ctx, w.log, to, order, results[i])
		}
		return answers, nil
	})
	for i, end := range ended {
		reportMismatch(ctx, w.log, to, orders[i], end)
	}
	return taken, err
}
