package jobs

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"

	"parapet/jobs/rail"
	"parapet/model"
)

// verifyPayoutMethod asks the rail whether an account takes money.
type verifyPayoutMethod struct {
	river.WorkerDefaults[model.VerifyPayoutMethod]

	service *model.Service
	rail    rail.Rail
}

// Work implements river.Worker.
func (w *verifyPayoutMethod) Work(ctx context.Context, job *river.Job[model.VerifyPayoutMethod]) error {
	payee, err := w.service.PayeeOf(ctx, job.Args.Partner, job.Args.ID)
	if err != nil || payee == nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	answer, err := w.rail.Verify(asked, rail.Payee{Beneficiary: payee.Beneficiary, Number: payee.Number})
	if err != nil {
		return fmt.Errorf("verify %s: %w", job.Args.ID, err)
	}
	return w.service.RecordVerification(ctx, job.Args.Partner, job.Args.ID, answer.Method, answer.Code, answer.Verified)
}

// releasePayout pays. The intent is committed before the call and the outcome
// after it; a worker that dies in between leaves a doubt that only the rail
// resolves, never a second payment.
type releasePayout struct {
	river.WorkerDefaults[model.ReleasePayout]

	service *model.Service
	rail    rail.Rail
	log     *slog.Logger
}

// Work implements river.Worker.
func (w *releasePayout) Work(ctx context.Context, job *river.Job[model.ReleasePayout]) error {
	order, wait, err := w.service.BeginRelease(ctx, w.rail.Name(), job.Args.Partner, job.Args.ID)
	switch {
	case err != nil:
		return err
	case wait > 0:
		return river.JobSnooze(wait)
	case order == nil:
		return nil
	}
	again, err := w.service.EndRelease(ctx, w.rail.Name(), order, w.pay(ctx, order))
	if err != nil {
		return err
	}
	if again > 0 {
		return river.JobSnooze(again)
	}
	return nil
}

// pay calls the rail. In doubt it inquires first; «not found» is no refusal, so
// the same order goes out again under the same key, which pays once at most.
func (w *releasePayout) pay(ctx context.Context, order *model.Release) model.RailAnswer {
	ctx, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	instruction := rail.Instruction{
		Key: order.Key, PayoutID: order.PayoutID, Amount: order.Amount,
		Payee: rail.Payee{Beneficiary: order.Beneficiary, Number: order.Number},
	}
	var result rail.Result
	if order.Doubt && w.rail.Capabilities().Inquirable {
		result = w.rail.Inquire(ctx, order.Key)
	}
	if !order.Doubt || result.Outcome == rail.NotFound {
		result = w.rail.Send(ctx, instruction)
	}
	if result.Err != nil {
		w.log.WarnContext(ctx, "rail in doubt", "order", instruction, "attempt", order.Attempt, "code", result.Code, "error", result.Err)
	}
	return answer(result, instruction)
}

func answer(result rail.Result, instruction rail.Instruction) model.RailAnswer {
	said := model.RailAnswer{Outcome: model.OutcomeUnknown, Code: result.Code, Reference: result.Reference}
	switch result.Outcome {
	case rail.Accepted:
		said.Outcome = model.OutcomeAccepted
		if !result.Confirms(instruction) {
			said.Outcome = model.OutcomeMismatch
		}
	case rail.Refused:
		said.Outcome = model.OutcomeRefused
	case rail.Unknown, rail.NotFound:
	}
	return said
}
