package challenge

import (
	"context"
	"fmt"
	"time"

	"parapet/model/audit"
	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/claims/measured"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/wire"
)

// DecisionRequest is an operator's decision on the open challenge of a claim.
type DecisionRequest struct {
	ClaimID       string
	Outcome       Status      // accepted, rejected
	FurtherAmount *wire.Money // acceptance of an approved or closed claim only: what is owed in addition
	Message       *string     // to the partner
	Note          *string     // operators only
}

// Decide accepts or rejects the open challenge of a claim. The payout of a further amount
// needs the approvals that any payout of its amount needs. Errors: not_found,
// validation_failed, state_conflict without an open challenge, limit_exhausted.
func (s *Service) Decide(ctx context.Context, caller actor.Actor, in DecisionRequest) (*wire.Claim, error) {
	if err := s.Authorize(ctx, caller, actor.ScopeOperator); err != nil {
		return nil, err
	}
	id, err := store.ResourceClaim.ParseID(in.ClaimID)
	if err != nil {
		return nil, err
	}
	var claim *wire.Claim
	err = s.InTx(ctx, caller, func(ctx context.Context, tx *store.Tx) error {
		_, row, err := payouts.LockClaimAndPolicy(ctx, tx, id)
		if err != nil {
			return err
		}
		if fields := in.validate(row); len(fields) > 0 {
			return apperr.Invalid(fields...)
		}
		open, err := loadOpen(ctx, tx, row)
		switch {
		case err != nil:
			return err
		case open == nil:
			return apperr.Fail(apperr.CodeStateConflict, "The claim has no open challenge.")
		}
		if claim, err = decide(ctx, tx, row, open, in); err != nil {
			return err
		}
		audit.RecordOperatorAction(tx, audit.OperatorActionRow{Operation: audit.OperationDecideChallenge, Partner: row.Partner, PolicyID: &row.PolicyID, ClaimID: &row.ID, Note: in.Note})
		return tx.StoreResponse(store.StatusOK, claim.ID, claim)
	})
	return claim, err
}

func (in *DecisionRequest) validate(row *claims.ClaimRow) []apperr.FieldError {
	v := apperr.Validator{}
	v.Require(in.Outcome == Accepted || in.Outcome == Rejected, "/outcome", "enum", "Use accepted or rejected.")
	audit.RequireNote(&v, in.Note, "/note")
	if in.Message != nil {
		claims.RequireMessage(&v, *in.Message, "/message")
	}
	switch adds := in.Outcome == Accepted && row.Status != claims.ClaimDeclined; {
	case !adds:
		v.Require(in.FurtherAmount == nil, "/further_amount", "not_allowed", "Only the acceptance of an approved or closed claim's challenge has an amount. A declined claim is decided again.")
	case in.FurtherAmount == nil:
		v.Require(false, "/further_amount", "required", "Give the amount that is owed in addition: an accepted challenge never reduces what was approved.")
	default:
		v.Require(in.FurtherAmount.Amount > 0, "/further_amount/amount", "minimum", "Add at least 1 minor unit.")
		v.Require(in.FurtherAmount.Currency == row.Currency, "/further_amount/currency", "value", "Use the policy's currency, "+row.Currency+".")
	}
	return v.FieldErrors
}

// decide saves the decision and what follows from it.
func decide(ctx context.Context, tx *store.Tx, row *claims.ClaimRow, open *challengeRow, in DecisionRequest) (*wire.Claim, error) {
	open.Status, open.DecidedAt = in.Outcome, &tx.Now
	reason, summary := claims.ReasonChallengeRejected, "The challenge was rejected."
	if in.Outcome == Accepted {
		reason, summary = claims.ReasonChallengeAccepted, "The challenge was accepted."
	}
	open.ReasonCodes = []string{string(reason)}
	if in.FurtherAmount != nil {
		open.FurtherAmount = &in.FurtherAmount.Amount
	}
	if _, err := tx.NewUpdate().Model(open).WherePK().Column("status", "decided_at", "reason_codes", "further_amount").Exec(ctx); err != nil {
		return nil, fmt.Errorf("save challenge: %w", err)
	}
	if in.Message != nil {
		if _, err := claims.SaveMessage(ctx, tx, row, *in.Message); err != nil {
			return nil, err
		}
	}
	claim, err := recordChange(ctx, tx, row, event.ClaimChallengeDecided, summary, map[string]any{"status": open.Status, "reason_codes": open.ReasonCodes})
	switch {
	case err != nil || in.Outcome == Rejected:
		return claim, err
	case row.Status == claims.ClaimDeclined:
		return reopen(ctx, tx, row)
	}
	increased, err := adjudication.AddPart(ctx, tx, row, in.FurtherAmount.Amount)
	if err != nil {
		return nil, err
	}
	if claim, err = claims.LoadClaimRecord(ctx, tx, increased); err != nil {
		return nil, err
	}
	return claim, measured.Attach(ctx, tx, claim)
}

// reopen defers a declined claim, so that an operator decides it again.
func reopen(ctx context.Context, tx *store.Tx, row *claims.ClaimRow) (*wire.Claim, error) {
	if err := checkReopenable(ctx, tx, row); err != nil {
		return nil, err
	}
	review := tx.Now.Add(adjudication.ReviewInterval)
	row.Outcome, row.ReasonCodes, row.DecidedAt, row.NextReviewAt = new(string(claims.ClaimDeferred)), []string{string(claims.ReasonChallengeAccepted)}, new(time.Time), &review
	*row.DecidedAt = tx.Now
	kind, err := store.ChangeStatus(ctx, tx, row, claims.ClaimTransitions, &row.Status, claims.ClaimDeferred, "outcome", "reason_codes", "decided_at", "next_review_at")
	if err != nil {
		return nil, err
	}
	data := map[string]any{"decision": row.ToDecision()}
	return appendChange(ctx, tx, row, kind, "The claim is decided again.", data)
}

// checkReopenable returns an error when another claim took the occurrence after a
// retraction.
func checkReopenable(ctx context.Context, tx *store.Tx, row *claims.ClaimRow) error {
	var others int
	err := tx.NewRaw("select count(*) from claims where policy_id = ? and partner = ? and occurrence_id = ? and id <> ? and (status <> 'declined' or reason_codes <> array['source_retracted'])",
		row.PolicyID, row.Partner, row.OccurrenceID, row.ID).Scan(ctx, &others)
	if err == nil && others > 0 {
		return apperr.Fail(apperr.CodeStateConflict, "Another claim of this policy is for the same occurrence: decide that one, and reject this challenge.")
	}
	return err
}
