package adjudication

import (
	"context"
	"fmt"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/wire"
)

// AddPart approves a further amount, in minor units, of an approved or closed claim whose
// challenge was accepted, and creates its payout. The caller has locked policy and claim
// and saved its changes of seen. Errors: limit_exhausted, validation_failed.
func AddPart(ctx context.Context, tx *store.Tx, seen *claims.ClaimRow, more int64) (*claims.ClaimRow, error) {
	adj, row, err := lockForDecision(ctx, tx, seen)
	if err != nil {
		return nil, err
	}
	p := adj.policies[0]
	switch {
	case p.LimitRemaining == 0:
		e := apperr.Fail(apperr.CodeLimitExhausted, "Nothing is left of this policy's limit.")
		e.ResourceID = store.ResourcePolicy.FormatID(p.ID)
		return nil, e
	case more > p.LimitRemaining:
		return nil, apperr.Invalid(apperr.NewFieldError("/further_amount/amount", "maximum", fmt.Sprintf("Only %s is left of the policy's limit.", money.New(p.LimitRemaining, p.Currency))))
	}
	det, err := loadDetermination(ctx, tx, row)
	if err != nil {
		return nil, err
	}
	row.Amount, row.ClosedAt = new(*row.Amount+more), nil
	adj.changedClaims = append(adj.changedClaims, row)
	event, err := adj.transitionClaim(row, claims.ClaimApproved)
	if err != nil {
		return nil, err
	}
	decision := wire.Decision{Outcome: string(claims.ClaimApproved), ReasonCodes: []string{string(claims.ReasonChallengeAccepted)}, DecidedAt: adj.Now}
	summary := fmt.Sprintf("The challenge was accepted: %s more is owed.", money.New(more, p.Currency))
	if err := adj.recordEvent(row, det, event, summary, &wire.DecisionData{Amount: row.ToMoney(row.Amount), Decision: &decision}); err != nil {
		return nil, err
	}
	if err := adj.createPayout(p, row, more); err != nil {
		return nil, err
	}
	return row, adj.save(ctx)
}
