package jobs

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"parapet/jobs/rail"
	"parapet/model"
	"parapet/model/kernel/pacing"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// releaseBatchSize is the number of payouts per transaction on a BatchRail.
const releaseBatchSize = 500

// maxBatchesPerJob limits the batches of one job to a few seconds of work, so that other
// jobs run.
const maxBatchesPerJob = 20

// releaseBatch releases due payouts through a BatchRail or a GroupRail. For a BatchRail it
// makes no external call: the orders stored here are later written to the bank's files.
type releaseBatch struct {
	river.WorkerDefaults[payouts.ReleaseBatch]

	service *model.Service
	rail    rail.Rail
	log     *slog.Logger
	tracer  trace.Tracer   // nil makes no spans
	single  *releasePayout // calls a GroupRail; nil for a BatchRail
}

// Work implements river.Worker. It continues while batches are full.
func (w *releaseBatch) Work(ctx context.Context, _ *river.Job[payouts.ReleaseBatch]) error {
	if to, takes := w.rail.(rail.BatchRail); takes {
		return repeatWhileFull(func() (bool, error) {
			leave, err := w.service.Bulk.Enter(ctx)
			if errors.Is(err, pacing.ErrBusy) {
				return false, river.JobSnooze(0)
			}
			if err != nil {
				return false, err
			}
			defer leave()
			taken, err := w.releaseDueBatch(ctx, to)
			return taken == releaseBatchSize, err
		})
	}
	if to, size, takes := rail.TakesGroups(w.rail); takes {
		return repeatWhileFull(func() (bool, error) { return w.single.releaseGroup(ctx, to, size) })
	}
	return nil // the rail was changed meanwhile; the sweep sends each payout alone
}

// repeatWhileFull releases batches until one is not full, fails, or the job has run for
// long enough.
func repeatWhileFull(releaseNext func() (full bool, err error)) error {
	for range maxBatchesPerJob {
		if full, err := releaseNext(); err != nil || !full {
			return err
		}
	}
	return river.JobSnooze(0)
}

func (w *releaseBatch) releaseDueBatch(ctx context.Context, to rail.BatchRail) (int, error) {
	ctx, done := startSpan(ctx, w.tracer, "rail "+to.Name(), trace.SpanKindInternal, attribute.Int("parapet.most", releaseBatchSize))
	defer done()
	var orders []*release.Release
	taken, ended, err := w.service.Releases.ReleaseBatch(ctx, IdentityOf(to), releaseBatchSize, func(ctx context.Context, conn *pgx.Conn, going []*release.Release) ([]payouts.RailAnswer, error) {
		orders = going
		instructions := make([]rail.Instruction, len(orders))
		for i, order := range orders {
			instructions[i] = toInstruction(order)
		}
		results, err := to.Submit(ctx, conn, instructions)
		if err != nil {
			return nil, err
		}
		answers := make([]payouts.RailAnswer, len(orders))
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
