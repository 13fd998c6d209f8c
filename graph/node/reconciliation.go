package node

import (
	"context"
	"maps"
	"slices"
	"time"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/payouts/reconciliation"
)

// ReconcileInput is a rail's report.
type ReconcileInput struct {
	Rail             string
	Name             string
	LineCount        int
	Sums             []*money.Money
	Until            *time.Time
	Lines            []*reconciliation.ReportLine
	ClientMutationID *string
}

// ReconcilePayload is the result of applying a report.
type ReconcilePayload struct {
	ReportID         string
	Again            bool
	Results          []*ReportResult
	Missing          int
	ClientMutationID *string
}

// ReportResult is the number of lines with a result.
type ReportResult struct {
	Result string
	Lines  int
}

// Reconcile compares a report with our payouts. It needs no idempotency key: the same
// report again changes nothing.
func (r *Reader) Reconcile(ctx context.Context, in ReconcileInput) (*ReconcilePayload, error) {
	sums, err := sumByCurrency(in.Sums)
	if err != nil {
		return nil, err
	}
	actor := r.Actor
	actor.Operation = "reconcile"
	done, err := r.Service.Reconciliation.Reconcile(ctx, actor, reconciliation.Report{Rail: in.Rail, Name: in.Name, Lines: &in.LineCount, Sums: sums, Until: in.Until},
		func(each func(reconciliation.ReportLine) error) error {
			for _, line := range in.Lines {
				if err := each(*line); err != nil {
					return err
				}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	payload := &ReconcilePayload{ReportID: done.ID, Again: done.AlreadyImported, Missing: done.Missing, ClientMutationID: in.ClientMutationID}
	for _, result := range slices.Sorted(maps.Keys(done.Results)) {
		payload.Results = append(payload.Results, &ReportResult{result, done.Results[result]})
	}
	return payload, nil
}

// sumByCurrency adds up the sums that a report announces. Lines have no negative amount,
// so neither has a sum, and adding two that are not negative overflows to less than 0.
func sumByCurrency(announced []*money.Money) (map[string]int64, error) {
	sums := map[string]int64{}
	for _, sum := range announced {
		sums[sum.Currency] += sum.Amount
		if sum.Amount < 0 || sums[sum.Currency] < 0 {
			return nil, apperr.Invalid(apperr.NewFieldError("/sums", "value", "Use amounts of 0 or more, of at most 64 bits in each currency."))
		}
	}
	return sums, nil
}

// CloseReconciliationExceptionInput is the input of CloseReconciliationException.
type CloseReconciliationExceptionInput struct {
	reconciliation.CloseExceptionRequest
	ClientMutationID *string
}

// CloseReconciliationExceptionPayload is the closed reconciliation exception.
type CloseReconciliationExceptionPayload struct {
	ReconciliationException *reconciliation.Exception
	ClientMutationID        *string
}

// CloseReconciliationException closes a reconciliation exception.
func (r *Reader) CloseReconciliationException(ctx context.Context, in CloseReconciliationExceptionInput) (*CloseReconciliationExceptionPayload, error) {
	exception, err := runMutation(ctx, r, in.ClientMutationID, in.CloseExceptionRequest, r.Service.Reconciliation.CloseException)
	return &CloseReconciliationExceptionPayload{exception, in.ClientMutationID}, err
}

// ReconciliationExceptions lists reconciliation exceptions, newest first.
func (r *Reader) ReconciliationExceptions(ctx context.Context, closedToo bool) ([]*reconciliation.Exception, error) {
	list, err := r.Service.Reconciliation.ListExceptions(ctx, r.Actor, closedToo, store.PageRequest{Limit: store.MaxPageSize})
	if err != nil {
		return nil, err
	}
	return pointersTo(list.Data), nil
}
