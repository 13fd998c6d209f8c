package store

import (
	"context"

	"github.com/uptrace/bun"
)

// Job is work that the domain enqueues. Its fields are its arguments, in JSON. They are
// ids, so that the worker reads the current data.
type Job interface {
	// Kind is the job's stable name in the queue.
	Kind() string
}

// JobQueue inserts jobs in the transaction that is open on conn, so that a job exists if
// and only if its cause was committed. It returns an error when no transaction is open.
type JobQueue interface {
	Insert(ctx context.Context, conn bun.Conn, jobs []Job) error
}

// DeleteFiles deletes documents whose records were erased or never written. The job is
// retried until it succeeds, because nothing else refers to these files.
type DeleteFiles struct {
	Keys []string `json:"keys"`
}

// Kind is the job's stable name.
func (DeleteFiles) Kind() string { return "delete_files" }

// SweepWork is the job that runs one turn of one kind of due work.
type SweepWork struct {
	Work DueWork `json:"work"`
}

// DueWork is a kind of work that becomes due by time. Each kind is swept separately, so
// that none waits for another.
type DueWork string

// WorkStoppedPayouts is the work of a resumption of releases after its check.
const WorkStoppedPayouts DueWork = "stopped_payouts"

// Kind returns the job's stable name in the queue.
func (SweepWork) Kind() string { return "sweep" }
