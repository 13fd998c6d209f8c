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

// sliceSize is how many payouts go out in one transaction through a rail that takes
// slices.
const sliceSize = 500

// slicesPerTurn is how many slices a job sends before it makes room for others: a few
// seconds' work.
const slicesPerTurn = 20

// releaseSlice sends what is due through a rail that takes slices. It calls nobody:
// what the bank gets is written later from what was entered here.
type releaseSlice struct {
	river.WorkerDefaults[model.ReleaseSlice]

	service *model.Service
	rail    rail.Rail
	log     *slog.Logger
	tracer  trace.Tracer // nil makes no spans
}

// Work implements river.Worker. It goes on while slices are full.
func (w *releaseSlice) Work(ctx context.Context, _ *river.Job[model.ReleaseSlice]) error {
	to, takes := w.rail.(rail.Slicer)
	if !takes {
		return nil // the rail was changed meanwhile; the sweep sends each by itself
	}
	for range slicesPerTurn {
		taken, err := w.slice(ctx, to)
		if err != nil || taken < sliceSize {
			return err
		}
	}
	return river.JobSnooze(0)
}

func (w *releaseSlice) slice(ctx context.Context, to rail.Slicer) (int, error) {
	ctx, done := span(ctx, w.tracer, "rail "+to.Name(), trace.SpanKindInternal, attribute.Int("parapet.most", sliceSize))
	defer done()
	var orders []*model.Release
	taken, ended, err := w.service.ReleaseSlice(ctx, IdentityOf(to), sliceSize, func(ctx context.Context, conn *pgx.Conn, going []*model.Release) ([]model.RailAnswer, error) {
		orders = going
		instructions := make([]rail.Instruction, len(orders))
		for i, order := range orders {
			instructions[i] = instruction(order)
		}
		results, err := to.Enter(ctx, conn, instructions)
		if err != nil {
			return nil, err
		}
		answers := make([]model.RailAnswer, len(orders))
		for i, order := range orders {
			answers[i] = heard(ctx, w.log, to, order, results[i])
		}
		return answers, nil
	})
	for i, end := range ended {
		alarm(ctx, w.log, to, orders[i], end)
	}
	return taken, err
}
