package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
)

// addMatchingWorkers adds the workers that match occurrences to policies.
func addMatchingWorkers(workers *river.Workers, service *adjudication.Service) {
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[occurrence.EvaluateOccurrences]) error {
		return snoozeIfPending(service.Evaluate(ctx, job.Args))
	}))
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[adjudication.EvaluatePolicies]) error {
		return service.EvaluatePolicies(ctx, job.Args)
	}))
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, _ *river.Job[adjudication.DecideSlices]) error {
		more, err := service.DecideSlices(ctx)
		if err == nil && more {
			return river.JobSnooze(0)
		}
		return err
	}))
}

// snoozeIfPending snoozes a second matching pass until the transactions of the first have
// ended.
func snoozeIfPending(err error) error {
	if errors.Is(err, adjudication.ErrBarrierPending) {
		return river.JobSnooze(time.Second)
	}
	return err
}
