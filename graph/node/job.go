package node

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"parapet/model/kernel/optional"
	"parapet/model/operations"
)

// Job is one job of the queue.
type Job struct{ *operations.QueuedJob }

// Args returns the job's arguments.
func (j *Job) Args() jsontext.Value { return jsontext.Value(j.QueuedJob.Args) }

// JobCounts counts jobs by queue, kind and state.
func (r *Reader) JobCounts(ctx context.Context) ([]*operations.JobCount, error) {
	counts, err := r.Service.Operations.JobCounts(ctx, r.Actor)
	return pointersTo(counts), err
}

// FailingJobs lists the kinds of jobs that fail.
func (r *Reader) FailingJobs(ctx context.Context) ([]*operations.FailingJobs, error) {
	kinds, err := r.Service.Operations.FailingJobs(ctx, r.Actor)
	return pointersTo(kinds), err
}

// Jobs lists jobs, newest first.
func (r *Reader) Jobs(ctx context.Context, first *int, after *string, filter *operations.JobFilter) (*JobConnection, error) {
	return toConnection(func(rows []*operations.QueuedJob) []*Job {
		return wrapEach(rows, func(j *operations.QueuedJob) *Job { return &Job{j} })
	})(r.Service.Operations.ListJobs(ctx, r.Actor, optional.OrZero(filter), pageRequest(first, after)))
}

// RetryJobsInput selects jobs to retry.
type RetryJobsInput struct {
	Filter           operations.JobFilter
	Reason           string
	DryRun           bool
	ClientMutationID *string
}

// CancelJobsInput selects jobs to cancel.
type CancelJobsInput RetryJobsInput

// SnoozeJobsInput selects jobs to postpone.
type SnoozeJobsInput struct {
	Filter           operations.JobFilter
	Until            time.Time
	Reason           string
	DryRun           bool
	ClientMutationID *string
}

// JobsPayload counts the matched, changed and kept jobs.
type JobsPayload struct {
	Matched, Changed, Skipped int
	ClientMutationID          *string
}

// RetryJobs retries jobs now.
func (r *Reader) RetryJobs(ctx context.Context, in RetryJobsInput) (*JobsPayload, error) {
	return r.changeJobs(ctx, in.ClientMutationID, operations.JobChange{Verb: operations.RetryJobs, Filter: in.Filter, Reason: in.Reason, DryRun: in.DryRun})
}

// CancelJobs cancels jobs.
func (r *Reader) CancelJobs(ctx context.Context, in CancelJobsInput) (*JobsPayload, error) {
	return r.changeJobs(ctx, in.ClientMutationID, operations.JobChange{Verb: operations.CancelJobs, Filter: in.Filter, Reason: in.Reason, DryRun: in.DryRun})
}

// SnoozeJobs postpones jobs.
func (r *Reader) SnoozeJobs(ctx context.Context, in SnoozeJobsInput) (*JobsPayload, error) {
	return r.changeJobs(ctx, in.ClientMutationID, operations.JobChange{Verb: operations.SnoozeJobs, Filter: in.Filter, Until: in.Until, Reason: in.Reason, DryRun: in.DryRun})
}

func (r *Reader) changeJobs(ctx context.Context, id *string, in operations.JobChange) (*JobsPayload, error) {
	done, err := runMutation(ctx, r, id, in, r.Service.Operations.ChangeJobs)
	if err != nil {
		return nil, err
	}
	return &JobsPayload{done.Matched, done.Changed, done.Skipped, id}, nil
}

// PauseQueueInput is a queue and the reason.
type PauseQueueInput struct {
	Queue, Reason    string
	ClientMutationID *string
}

// ResumeQueueInput is a queue and the reason.
type ResumeQueueInput PauseQueueInput

// QueuePayload is the queue after a mutation.
type QueuePayload struct {
	Queue            *operations.JobQueue
	ClientMutationID *string
}

// JobQueues lists the queues.
func (r *Reader) JobQueues(ctx context.Context) ([]*operations.JobQueue, error) {
	queues, err := r.Service.Operations.JobQueues(ctx, r.Actor)
	return pointersTo(queues), err
}

// PauseQueue pauses a queue.
func (r *Reader) PauseQueue(ctx context.Context, in PauseQueueInput) (*QueuePayload, error) {
	queue, err := runMutation(ctx, r, in.ClientMutationID, operations.QueueChange{Queue: in.Queue, Paused: true, Reason: in.Reason}, r.Service.Operations.ChangeQueue)
	return &QueuePayload{queue, in.ClientMutationID}, err
}

// ResumeQueue resumes a queue.
func (r *Reader) ResumeQueue(ctx context.Context, in ResumeQueueInput) (*QueuePayload, error) {
	queue, err := runMutation(ctx, r, in.ClientMutationID, operations.QueueChange{Queue: in.Queue, Reason: in.Reason}, r.Service.Operations.ChangeQueue)
	return &QueuePayload{queue, in.ClientMutationID}, err
}
