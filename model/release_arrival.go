package model

import (
	"context"
	"fmt"

	"parapet/model/kernel/store"
)

// isUnexpectedPayment reports whether a bank reports a payment that does not confirm
// the payout: under a superseded key; for a payout that was cancelled or that evidence
// showed to be a mismatch; or before it was sent. A payment that a report confirmed, or
// that was returned since, is not unexpected.
func (r *payoutRow) isUnexpectedPayment(order *Release, answer RailAnswer) bool {
	switch {
	case !answer.Outcome.movedMoney():
		return false
	case order.Key != r.idempotencyKey() || r.awaitsSending():
		return true
	default:
		return answer.Outcome == OutcomeAccepted && (r.Status == PayoutBlocked || r.Status == PayoutCancelled && !r.SettledExternally)
	}
}

// barPaidPart blocks the part of a claim that a bank reports as paid under a key, and
// stores the arrival if the bank paid what was ordered. It returns the other payouts of
// the part, locked by their claim, for the caller to save. If a report covered the key
// before, nothing changes: its lines are dated and show whether the money was returned.
func barPaidPart(ctx context.Context, tx *store.Tx, out lockedPayout, key string, whole bool) (others []lockedPayout, err error) {
	row := out.row
	var reported bool
	err = tx.NewRaw(`select exists (select from rail_report_lines rl join payouts po on po.id = rl.payout_id where po.claim_id = ? and po.partner = ? and rl.key = ?
			and rl.status in ('settled', 'returned') and rl.match_result in ('reconciled', 'returned', 'state', 'reversed', 'duplicate'))`,
		row.ClaimID, row.Partner, key).Scan(ctx, &reported)
	if err != nil || reported {
		return nil, err
	}
	if parsed, ok := parseRailKey(key); ok && whole {
		saveArrival(tx, row.Partner, arrival{row.ClaimID, row.Installment, parsed.number}, nil)
	}
	var rows []*payoutRow
	err = tx.NewSelect().Model(&rows).Where("po.claim_id = ?", row.ClaimID).Where("po.partner = ?", row.Partner).Where("po.id <> ?", row.ID).OrderExpr("po.id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read payouts: %w", err)
	}
	for _, p := range rows {
		tx.AdvanceClock(&p.RowHeader)
		others = append(others, newLockedPayout(out.claim, p))
	}
	return others, blockPart(tx, out.claim, row.Installment, append(rows, row))
}
