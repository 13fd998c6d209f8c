package jobs

import (
	"context"
	"fmt"

	"github.com/riverqueue/river"

	"parapet/jobs/rail"
	"parapet/model"
	"parapet/model/payouts"
)

// verifyPayoutMethod asks the rail whether an account accepts money.
type verifyPayoutMethod struct {
	river.WorkerDefaults[payouts.VerifyPayoutMethod]

	service *model.Service
	rail    rail.Rail
}

// Work implements river.Worker.
func (w *verifyPayoutMethod) Work(ctx context.Context, job *river.Job[payouts.VerifyPayoutMethod]) error {
	payee, err := w.service.Payouts.BeginVerification(ctx, job.Args.Partner, job.Args.ID)
	if err != nil || payee == nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	answer, err := w.rail.Verify(asked, rail.Payee{Beneficiary: payee.Beneficiary, Number: payee.Number})
	if err != nil {
		return fmt.Errorf("verify %s: %w", job.Args.ID, err)
	}
	return w.service.Payouts.RecordVerification(ctx, job.Args.Partner, job.Args.ID, answer.Method, answer.Code, answer.Verified)
}
