package adjudication

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/internal/rules"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// applyDecision stores a decision: the claim with its event and timeline entry and, for
// an approval, the reserved limit and the payout.
func (adj *adjudication) applyDecision(p *underwriting.PolicyRow, row *claims.ClaimRow, det *claims.DeterminationRow, decision rules.Decision, review *time.Time) error {
	row.Outcome, row.ReasonCodes = new(string(decision.Outcome)), decision.Reasons
	row.DecidedAt, row.NextReviewAt = &adj.Now, review
	if decision.Outcome == rules.Approve {
		row.Amount = &decision.Amount
		if adj.reported != nil { // the same debt in every order of the reports
			row.OccurrenceKey = new(payouts.NaturalKey(adj.reported))
		}
	}
	event, err := adj.transitionClaim(row, claims.ClaimStatus(decision.Outcome))
	if err != nil {
		return err
	}
	err = adj.recordEvent(row, det, event, adj.decisionSentence(p, row), &wire.DecisionData{Amount: row.ToMoney(row.Amount), Decision: row.ToDecision()})
	if err != nil || decision.Outcome != rules.Approve {
		return err
	}
	return adj.createPayout(p, row, decision.Amount)
}

// transitionClaim changes the status of a claim. A claim that stays deferred for another
// reason is updated.
func (adj *adjudication) transitionClaim(row *claims.ClaimRow, to claims.ClaimStatus) (event.Type, error) {
	if row.Status == to {
		adj.BumpVersion(&row.RowHeader)
		return event.ClaimUpdated, nil
	}
	return store.ChangeStatusInMemory(adj.Tx, &row.RowHeader, claims.ClaimTransitions, &row.Status, to)
}

// createPayout reserves the limit and creates the payout.
func (adj *adjudication) createPayout(p *underwriting.PolicyRow, row *claims.ClaimRow, amount int64) error {
	p.LimitRemaining -= amount
	event := event.PolicyUpdated
	if p.LimitRemaining == 0 && p.Status == underwriting.PolicyActive {
		var err error
		if event, err = store.ChangeStatusInMemory(adj.Tx, &p.RowHeader, underwriting.PolicyTransitions, &p.Status, underwriting.PolicyExhausted); err != nil {
			return err
		}
	} else {
		adj.BumpVersion(&p.RowHeader)
	}
	adj.changedPolicies = append(adj.changedPolicies, p)
	if _, err := adj.AppendEvent(event, &p.RowHeader, store.ResourcePolicy, p.ToRecord(adj.Now, adj.policyClaimsAfter(p.ID))); err != nil {
		return err
	}
	part := adj.installments[row.ID] + 1
	parts := adj.claimPayouts[row.ID]
	payout := &claims.PayoutRow{
		RowHeader: adj.NewHeader(p.Partner), ClaimID: row.ID, ClaimSequence: parts.PayoutsCount + 1, PolicyID: p.ID, Status: claims.PayoutPending, Installment: part,
		Amount: amount, Currency: p.Currency, DebtDigest: payouts.DebtDigest(row, part), IdempotencySeq: 1,
	}
	adj.newPayouts = append(adj.newPayouts, payout)
	return payouts.StartPayout(adj.Tx, p, row, payout, payouts.SelectMethod(adj.methods[p.ID], row.ID))
}

// policyClaimsAfter returns the claims that the policy's record shows after this
// decision: those that were loaded and the new one, each with its present status.
func (adj *adjudication) policyClaimsAfter(policy uuid.UUID) underwriting.PolicyClaims {
	status := make(map[string]claims.ClaimStatus)
	for _, c := range adj.relatedClaims[policy] {
		status[store.ResourceClaim.FormatID(c.ID)] = c.Status
	}
	shown := adj.shownClaims[policy]
	shown.Newest = slices.Clone(shown.Newest)
	for i, brief := range shown.Newest {
		if now, ok := status[brief.ID]; ok {
			shown.Newest[i].Status = string(now)
		}
	}
	return shown
}
