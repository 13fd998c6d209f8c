package reconciliation

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"parapet/model/audit"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/payouts"
)

// Exception is a difference for an operator to investigate.
type Exception struct {
	ID              string
	At              time.Time
	Kind            payouts.ReconciliationExceptionKind
	Rail            *string // nil if no rail is involved
	ReportID        *string // nil for a payout that no report has confirmed in time
	Line            *int    // line number in the report, from 1; nil for a missing payout
	Partner         *string
	PolicyID        *string
	PayoutID        *string
	RelatedPayoutID *string // the earlier payout, for an event paid twice
	Detail          *string // why matching the line failed
	ClosedAt        *time.Time
	ClosedBy        *string // the operator, as the issuer calls them
	ClosedReason    *string
	// Content of the line, or of the missing payout.
	Key        *string
	Reference  *string // the rail's reference
	Amount     *money.Money
	Account    *string // masked
	Status     *string // a LineStatus; nil for a missing payout
	Code       *string // the rail's reason code
	ReportedAt *time.Time

	ClosedByIssuer *string
}

func toRecord(r *payouts.ExceptionRow) Exception {
	closedBy, issuer := r.ClosedBy.NameAndIssuer()
	return Exception{
		ID: store.ResourceException.FormatID(r.ID), At: r.CreatedAt, Kind: r.Kind, Rail: r.Rail, ReportID: store.ResourceReport.FormatOptionalID(r.ReportID), Line: r.Line,
		Partner: r.Partner, PolicyID: store.ResourcePolicy.FormatOptionalID(r.PolicyID), PayoutID: store.ResourcePayout.FormatOptionalID(r.PayoutID), RelatedPayoutID: store.ResourcePayout.FormatOptionalID(r.RelatedPayoutID), Detail: r.Detail, ClosedAt: r.ClosedAt,
		ClosedBy: closedBy, ClosedByIssuer: issuer, ClosedReason: r.ClosedReason,
	}
}

// ListExceptions lists differences, newest first: the open ones, or all.
// Operators only. Errors: cursor_invalid, parameter_invalid.
func (s *Service) ListExceptions(ctx context.Context, caller actor.Actor, closedToo bool, in store.PageRequest) (*store.Page[Exception], error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	var rows []payouts.ExceptionRow
	q := s.DB.NewSelect().Model(&rows)
	if !closedToo {
		q = q.Where("fi.closed_at is null")
	}
	p, err := s.FetchPage(ctx, caller, q, in, fmt.Sprintf("reconciliation_exceptions/%t", closedToo), store.SortNewestFirst)
	if err != nil {
		return nil, err
	}
	list, err := store.NewPage(p, rows, func(r *payouts.ExceptionRow) string { return r.ID.String() }, toRecord)
	if err != nil {
		return nil, err
	}
	return list, store.TranslateError(s.describeExceptions(ctx, rows, list.Data))
}

// CloseExceptionRequest closes a difference.
type CloseExceptionRequest struct {
	ID     string
	Reason string // the cause of the difference, private
}

// CloseException closes a difference after its investigation. It moves no
// money: payouts that an event paid twice kept from being sent are held until an operator
// lifts the hold. Operators only. Errors: not_found, validation_failed, state_conflict.
func (s *Service) CloseException(ctx context.Context, caller actor.Actor, in CloseExceptionRequest) (*Exception, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	v := apperr.Validator{}
	audit.RequireNote(&v, &in.Reason, "/reason")
	if len(v.FieldErrors) > 0 {
		return nil, apperr.Invalid(v.FieldErrors...)
	}
	id, err := store.ResourceException.ParseID(in.ID)
	if err != nil {
		return nil, err
	}
	row := new(payouts.ExceptionRow)
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.NewSelect().Model(row).Where("fi.id = ?", id).For("update").Scan(ctx); err != nil {
			if store.IsNoRows(err) {
				return store.ResourceException.NotFoundError()
			}
			return fmt.Errorf("read reconciliation exception: %w", err)
		}
		if row.ClosedAt != nil {
			return apperr.Fail(apperr.CodeStateConflict, "The reconciliation exception is closed already.")
		}
		if err := holdDuplicates(ctx, tx, row); err != nil {
			return err
		}
		row.ClosedAt, row.ClosedBy, row.ClosedReason = &tx.Now, new(caller.PersonID()), &in.Reason
		if _, err := tx.NewUpdate().Model(row).Column("closed_at", "closed_by", "closed_reason").WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("close reconciliation exception: %w", err)
		}
		public := toRecord(row)
		tx.Describe("", public.ID, &in.Reason)
		return tx.StoreResponse(store.StatusOK, public.ID, &public)
	})
	if err != nil {
		return nil, err
	}
	public := []Exception{toRecord(row)}
	return &public[0], store.TranslateError(s.describeExceptions(ctx, []payouts.ExceptionRow{*row}, public))
}

// holdDuplicates holds the payouts that are not sent because of an exception of kind
// paid_twice. It refuses while one of them is with the rail: if the rail does not pay it, it
// would be sent again without an operator's decision.
func holdDuplicates(ctx context.Context, tx *store.Tx, exception *payouts.ExceptionRow) error {
	if exception.Kind != payouts.ExceptionPaidTwice {
		return nil
	}
	var ids []uuid.UUID
	err := tx.NewRaw("select po.id from payouts po where po.partner = ? and (po.claim_id, po.installment) in ("+payouts.DuplicatesSQL+"fi.id = ?)",
		exception.Partner, exception.ID).Scan(ctx, &ids)
	if err != nil {
		return fmt.Errorf("find payouts of an exception: %w", err)
	}
	slice, err := payouts.LockPayouts(ctx, tx, "", ids)
	if err != nil {
		return err
	}
	for _, out := range slice {
		if out.Row.IsInFlight() {
			return apperr.Fail(apperr.CodeStateConflict, "The payout %s is with the rail: close the exception when its outcome is known.", store.ResourcePayout.FormatID(out.Row.ID))
		}
		if err := payouts.HoldForCompliance(ctx, tx, out.Claim, out.Row, payouts.DuplicateHeldSentence); err != nil {
			return err
		}
	}
	return nil
}
