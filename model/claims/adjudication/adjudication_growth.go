package adjudication

import (
	"cmp"
	"fmt"

	"parapet/model/claims"
	"parapet/model/claims/measured"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/money"
	"parapet/model/underwriting"
	"parapet/model/wire"
)

// mayGrow reports whether the occurrence may still come to owe the policy more.
func (adj *adjudication) mayGrow(p *underwriting.PolicyRow) bool {
	return measured.MayGrow(p, adj.occurrence, adj.facts, adj.Clock)
}

// increaseClaim pays the amount that an occurrence owes beyond the approved amount. It reopens
// a closed claim. Approved amounts never decrease.
func (adj *adjudication) increaseClaim(p *underwriting.PolicyRow, row *claims.ClaimRow, d trigger.Determination) error {
	more := min(d.Amount-adj.owedFor(p), p.LimitRemaining)
	if more <= 0 {
		return nil
	}
	defer adj.WithActor(actor.System())()
	det, err := adj.newDetermination(p, d)
	if err != nil {
		return err
	}
	adj.newDeterminations, adj.changedClaims = append(adj.newDeterminations, det), append(adj.changedClaims, row)
	row.DeterminationID, row.OccurredAt, row.DecidedAt = &det.ID, &adj.occurrence.OccurredAt, &adj.Now
	row.Amount, row.ClosedAt = new(*row.Amount+more), nil
	event, err := adj.transitionClaim(row, claims.ClaimApproved)
	if err != nil {
		return err
	}
	summary := fmt.Sprintf("%s: %s more is owed.", cmp.Or(p.Cover.Trigger.Rules().Growth, "The source revised its values"), money.New(more, p.Currency))
	if err := adj.recordEvent(row, det, event, summary, &wire.IncreaseData{Amount: row.ToMoney(row.Amount), Determination: &det.Body}); err != nil {
		return err
	}
	return adj.createPayout(p, row, more)
}
