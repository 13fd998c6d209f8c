package release

import (
	"context"
	"fmt"

	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
)

// isUnexpectedPayment reports whether a bank reports a payment that does not confirm
// the payout: under a superseded key; for a payout that was cancelled or that evidence
// showed to be a mismatch; or before it was sent. A payment that a report confirmed, or
// that was returned since, is not unexpected.
func isUnexpectedPayment(r *claims.PayoutRow, order *Release, answer payouts.RailAnswer) bool {
	switch {
	case !answer.Outcome.MovedMoney():
		return false
	case order.Key != payouts.IdempotencyKey(r) || awaitsSending(r):
		return true
	default:
		return answer.Outcome == payouts.OutcomeAccepted && (r.Status == claims.PayoutBlocked || r.Status == claims.PayoutCancelled && !r.SettledExternally)
	}
}

// blockPaidPart blocks the part of a claim that a bank reports as paid under a key, and
// stores the arrival if the bank paid what was ordered. It returns the other payouts of
// the part, locked by their claim, for the caller to save. If a report covered the key
// before, nothing changes: its lines are dated and show whether the money was returned.
func blockPaidPart(ctx context.Context, tx *store.Tx, out payouts.LockedPayout, key string, whole bool) (others []payouts.LockedPayout, err error) {
	row := out.Row
	var reported bool
	err = tx.NewRaw(`select exists (select from rail_report_lines rl join payouts po on po.id = rl.payout_id where po.claim_id = ? and po.partner = ? and rl.key = ?
			and rl.status in ('settled', 'returned') and rl.match_result in ('reconciled', 'returned', 'state', 'reversed', 'duplicate'))`,
		row.ClaimID, row.Partner, key).Scan(ctx, &reported)
	if err != nil || reported {
		return nil, err
	}
	if parsed, ok := payouts.ParseRailKey(key); ok && whole {
		payouts.SaveArrival(tx, row.Partner, payouts.Arrival{Claim: row.ClaimID, Part: row.Installment, Number: parsed.Number}, nil)
	}
	var rows []*claims.PayoutRow
	err = tx.NewSelect().Model(&rows).Where("po.claim_id = ?", row.ClaimID).Where("po.partner = ?", row.Partner).Where("po.id <> ?", row.ID).OrderExpr("po.id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read payouts: %w", err)
	}
	for _, p := range rows {
		tx.AdvanceClock(&p.RowHeader)
		others = append(others, payouts.NewLockedPayout(out.Claim, p))
	}
	return others, payouts.BlockPart(tx, out.Claim, row.Installment, append(rows, row))
}
