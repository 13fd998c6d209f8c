package jobs

import (
	"context"
	"crypto/rand"
	"errors"

	"parapet/jobs/webhook"
	"parapet/model/claims/adjudication"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/sandbox"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// stepReset ends a batch of the partner's open records, and the run when none is left.
func (w *sandboxWorker) stepReset(ctx context.Context, run *sandbox.Run) error {
	open, err := w.service.Sandbox.LoadOpenRecords(ctx, run.Partner)
	if err != nil {
		return err
	}
	result, system, note := run.Result.Reset, actor.System(), new("The partner reset its sandbox.")
	if open.IsEmpty() {
		run.Status, run.Progress = sandbox.Done, 100
		return w.service.Sandbox.SaveRun(ctx, run)
	}
	result.ClaimsWithdrawn += endEach(open.Claims, &err, func(id string) error {
		_, err := w.service.Adjudication.Withdraw(ctx, system, adjudication.WithdrawalRequest{ClaimID: id, Note: note})
		return err
	})
	result.PayoutsCancelled += endEach(open.Payouts, &err, func(id string) error {
		_, err := w.service.Payouts.CancelUnsent(ctx, system, id, *note)
		return err
	})
	result.PoliciesCancelled += endEach(open.Policies, &err, func(id string) error {
		_, err := w.service.Policies.Cancel(ctx, system, underwriting.CancellationRequest{PolicyID: id, Reason: note})
		return err
	})
	if err != nil {
		return err
	}
	expired, err := w.service.Operations.ExpireQuotes(ctx, run.Partner)
	if err != nil {
		return err
	}
	result.QuotesExpired += expired
	if len(open.Readings) > 0 {
		if _, err := w.service.Occurrences.RecordObservations(ctx, run.Actor(), open.Readings, true); err != nil {
			return err
		}
		result.ObservationsRetracted += len(open.Readings)
	}
	run.Progress = min(99, run.Progress+10)
	return w.service.Sandbox.SaveRun(ctx, run)
}

// endEach ends records and returns how many it ended. A record that changed meanwhile is
// left to the next step; another error is stored in failed.
func endEach(ids []string, failed *error, end func(id string) error) (ended int) {
	for _, id := range ids {
		err := end(id)
		var refused *apperr.Error
		switch {
		case err == nil:
			ended++
		case !errors.As(err, &refused):
			*failed = errors.Join(*failed, err)
		}
	}
	return ended
}

// sendBadSignature sends the run's record as an event, once, signed with a random secret.
// The id is of no event, so that a receiver cannot have seen it before.
func (w *sandboxWorker) sendBadSignature(ctx context.Context, run *sandbox.Run) error {
	url, err := w.service.Sandbox.EndpointURL(ctx, run)
	if err != nil {
		return err
	}
	id, secret := store.ResourceEvent.FormatID(store.NewID()), make([]byte, 32)
	_, _ = rand.Read(secret)
	body, err := wire.Encode(map[string]any{"id": id, "object": "event", "type": "webhook_endpoint.enabled", "data": map[string]any{"object": run.Result.Signature}})
	if err != nil {
		return err
	}
	attempt := w.sender.Send(ctx, webhook.Message{URL: url, Secrets: [][]byte{secret}, ID: id, Body: body}).Attempt
	signature := run.Result.Signature
	signature.StatusCode, signature.Error = attempt.StatusCode, attempt.Error
	signature.Refused = attempt.StatusCode != nil && *attempt.StatusCode/100 == 4
	run.Status, run.Progress = sandbox.Done, 100
	if err := w.service.Sandbox.ShowSignature(ctx, run); err != nil {
		return err
	}
	return w.service.Sandbox.SaveRun(ctx, run)
}
