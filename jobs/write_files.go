package jobs

import (
	"context"
	"errors"

	"github.com/riverqueue/river"

	"parapet/jobs/rail"
	"parapet/model"
)

// fileRail is a rail that pays by files.
type fileRail interface {
	WriteDueFiles(ctx context.Context, permits rail.PermitSource) error
}

// WriteFiles writes the files of a bank that are due.
type WriteFiles struct{}

// Kind is the job's stable name.
func (WriteFiles) Kind() string { return "write_files" }

// writeFiles has nothing to do for other rails.
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
	if stopped, err := w.service.AreReleasesStopped(ctx); err != nil || stopped {
		return err // what was accepted waits for the next file
	}
	err := writer.WriteDueFiles(ctx, w.permit)
	if errors.Is(err, model.ErrReleasesStopped) {
		return nil // the rest waits, too
	}
	return err
}

// permit lets one file leave, after a heartbeat. A bank that takes files remembers no keys;
// a database that loses the orders of a file in a failover loses the later heartbeat too,
// and so is noticed before it pays them again in another file.
func (w *writeFiles) permit(ctx context.Context) (context.Context, rail.Permit, error) {
	restore, err := w.service.RecordHeartbeat(ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case restore != nil:
		return nil, nil, model.ErrReleasesStopped
	}
	return w.service.BeginSend(ctx)
}
