package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"parapet/jobs/rail"
)

// fileWriter is a rail that pays by files.
type fileWriter interface {
	WriteDue(ctx context.Context) error
}

// WriteFiles writes the files of a bank that are due.
type WriteFiles struct{}

// Kind is the job's stable name.
func (WriteFiles) Kind() string { return "write_files" }

// writeFiles has nothing to do for other rails.
type writeFiles struct {
	river.WorkerDefaults[WriteFiles]

	rail rail.Rail
}

// Work implements river.Worker.
func (w *writeFiles) Work(ctx context.Context, _ *river.Job[WriteFiles]) error {
	if writer, ok := w.rail.(fileWriter); ok {
		return writer.WriteDue(ctx)
	}
	return nil
}
