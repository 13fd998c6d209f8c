package model

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/internal/adjudicate"
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// applyDecision stores a decision: the claim with its event and timeline entry and, for
// an approval, the reserved limit and the payout.
func (adj *adjudication) applyDecision(p *policyRow, row *claimRow, det *determinationRow, decision adjudicate.Decision, review *time.Time) error {
	row.Outcome, row.ReasonCodes = new(string(decision.Outcome)), decision.Reasons
	row.DecidedAt, row.NextReviewAt = &adj.Now, review
	if decision.Outcome == adjudicate.Approve {
		row.Amount = &decision.Amount
	}
	event, err := adj.transitionClaim(row, ClaimStatus(decision.Outcome))
	if err != nil {
		return err
	}
	err = adj.recordEvent(row, det, event, decisionSentence(row, adj.facts), map[string]any{"decision": row.toRecord(claimRelations{}).Decision, "amount": row.toMoney(row.Amount)})
	if err != nil || decision.Outcome != adjudicate.Approve {
		return err
	}
	return adj.createPayout(p, row, decision.Amount)
}

// transitionClaim changes the status of a claim. A claim that stays deferred for another
// reason is updated.
func (adj *adjudication) transitionClaim(row *claimRow, to ClaimStatus) (event.Type, error) {
	if row.Status == to {
		adj.BumpVersion(&row.RowHeader)
		return event.ClaimUpdated, nil
	}
	return store.ChangeStatusInMemory(adj.Tx, &row.RowHeader, ClaimTransitions, &row.Status, to)
}

// createPayout reserves the limit and creates the payout.
func (adj *adjudication) createPayout(p *policyRow, row *claimRow, amount int64) error {
	p.LimitRemaining -= amount
	event := event.PolicyUpdated
	if p.LimitRemaining == 0 && p.Status == PolicyActive {
		var err error
		if event, err = store.ChangeStatusInMemory(adj.Tx, &p.RowHeader, PolicyTransitions, &p.Status, PolicyExhausted); err != nil {
			return err
		}
	} else {
		adj.BumpVersion(&p.RowHeader)
	}
	adj.changedPolicies = append(adj.changedPolicies, p)
	if _, err := adj.AppendEvent(event, &p.RowHeader, store.ResourcePolicy, p.toRecord(adj.Now, adj.policyClaimsAfter(p.ID))); err != nil {
		return err
	}
	part := adj.installments[row.ID] + 1
	payout := &payoutRow{
		RowHeader: adj.NewHeader(p.Partner), ClaimID: row.ID, PolicyID: p.ID, Status: PayoutPending, Installment: part,
		Amount: amount, Currency: p.Currency, DebtDigest: debtDigest(row, part), IdempotencySeq: 1,
	}
	adj.newPayouts = append(adj.newPayouts, payout)
	return startPayout(adj.Tx, p, row, payout, selectMethod(adj.methods[p.ID], row.ID))
}

// policyClaimsAfter returns the claims that the policy's record shows after this
// decision: those that were loaded and the new one, each with its present status.
func (adj *adjudication) policyClaimsAfter(policy uuid.UUID) policyClaims {
	status := make(map[string]ClaimStatus)
	for _, c := range adj.relatedClaims[policy] {
		status[store.ResourceClaim.FormatID(c.ID)] = c.Status
	}
	shown := adj.shownClaims[policy]
	shown.newest = slices.Clone(shown.newest)
	for i, brief := range shown.newest {
		if now, ok := status[brief.ID]; ok {
			shown.newest[i].Status = string(now)
		}
	}
	return shown
}
