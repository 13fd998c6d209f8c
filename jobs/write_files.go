package jobs

import (
	"context"
	"errors"

	"github.com/riverqueue/river"

	"parapet/jobs/rail"
	"parapet/model"
	"parapet/model/payouts/controls"
)

// fileRail is a rail that pays through files.
type fileRail interface {
	WriteDueFiles(ctx context.Context, permits rail.PermitSource) error
}

// WriteFiles writes the due payment files.
type WriteFiles struct{}

// Kind is the job's stable name.
func (WriteFiles) Kind() string { return "write_files" }

// writeFiles writes due payment files; it does nothing for other rails.
type writeFiles struct {
	river.WorkerDefaults[WriteFiles]

	service *model.Service
	rail    rail.Rail
}

// Work implements river.Worker.
func (w *writeFiles) Work(ctx context.Context, _ *river.Job[WriteFiles]) error {
	writer, ok := w.rail.(fileRail)
	if !ok {
		return nil
	}
	if stopped, err := w.service.Controls.AreReleasesStopped(ctx); err != nil || stopped {
		return err // accepted orders wait for the next file
	}
	err := writer.WriteDueFiles(ctx, w.permit)
	if errors.Is(err, controls.ErrReleasesStopped) {
		return nil // the remaining files wait too
	}
	return err
}

// permit lets one file leave after a heartbeat. A bank that takes files remembers no
// keys. A database that loses a file's orders in a failover also loses the later
// heartbeat, so the loss is detected before the orders are paid again in another file.
func (w *writeFiles) permit(ctx context.Context) (context.Context, rail.Permit, error) {
	restore, err := w.service.Operations.RecordHeartbeat(ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case restore != nil:
		return nil, nil, controls.ErrReleasesStopped
	}
	return w.service.Controls.BeginSend(ctx)
}
