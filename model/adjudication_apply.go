package model

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"parapet/model/internal/adjudicate"
)

// rule writes a decision, whoever took it: the claim, its event and sentence, and
// for an approval the limit and the payout.
func (j *judging) rule(p *policyRow, row *claimRow, det *determinationRow, decision adjudicate.Decision, review *time.Time) error {
	row.Outcome, row.ReasonCodes = new(string(decision.Outcome)), decision.Reasons
	row.DecidedAt, row.NextReviewAt = &j.now, review
	if decision.Outcome == adjudicate.Approve {
		row.Amount = &decision.Amount
	}
	event, err := j.become(row, ClaimStatus(decision.Outcome))
	if err != nil {
		return err
	}
	err = j.say(row, det, event, decisionSentence(row, j.facts), map[string]any{"decision": row.public(claimParts{}).Decision, "amount": row.money(row.Amount)})
	if err != nil || decision.Outcome != adjudicate.Approve {
		return err
	}
	return j.owe(p, row, decision.Amount)
}

// become moves a claim; one that goes on waiting, for another reason, is updated.
func (j *judging) become(row *claimRow, to ClaimStatus) (EventType, error) {
	if row.Status == to {
		j.touch(&row.header)
		return EventClaimUpdated, nil
	}
	return step(j.unit, &row.header, ClaimArrows, &row.Status, to)
}

// owe reserves the limit and makes the payout.
func (j *judging) owe(p *policyRow, row *claimRow, amount int64) error {
	p.LimitRemaining -= amount
	event := EventPolicyUpdated
	if p.LimitRemaining == 0 && p.Status == PolicyActive {
		var err error
		if event, err = step(j.unit, &p.header, PolicyArrows, &p.Status, PolicyExhausted); err != nil {
			return err
		}
	} else {
		j.touch(&p.header)
	}
	j.shrunk = append(j.shrunk, p)
	if _, err := j.record(event, &p.header, nounPolicy, p.public(j.now, j.claimsShown(p.ID))); err != nil {
		return err
	}
	part := j.parts[row.ID] + 1
	payout := &payoutRow{
		header: j.fresh(p.Partner), ClaimID: row.ID, PolicyID: p.ID, Status: PayoutPending, Part: part,
		Amount: amount, Currency: p.Currency, DebtDigest: debtDigest(row, part), KeyNumber: 1,
	}
	j.payouts = append(j.payouts, payout)
	return j.startPayout(p, row, payout, chosen(j.methods[p.ID], row.ID))
}

// claimsShown are the claims that the policy's record shows after this decision: those
// that were read and the one that was opened, each in the state it has now.
func (j *judging) claimsShown(policy uuid.UUID) policyClaims {
	status := make(map[string]ClaimStatus)
	for _, c := range j.others[policy] {
		status[nounClaim.id(c.ID)] = c.Status
	}
	shown := j.shown[policy]
	shown.newest = slices.Clone(shown.newest)
	for i, brief := range shown.newest {
		if now, ok := status[brief.ID]; ok {
			shown.newest[i].Status = string(now)
		}
	}
	return shown
}
