package reconciliation

import (
	"context"
	"fmt"

	"parapet/model/claims"
	"parapet/model/payouts"
)

// newArrival returns the arrival of a line about a payout. A line without a key counts
// for the payout's last key.
func newArrival(row *claims.PayoutRow, line *lineRow) payouts.Arrival {
	number := line.parsedKey.Number
	if number == 0 {
		number = row.IdempotencySeq
	}
	return payouts.Arrival{Claim: row.ClaimID, Part: row.Installment, Number: number}
}

// blockDoublePayment prevents a second payment of money that the beneficiary may
// already have. If the whole amount arrived, it blocks every payout of the same part of
// the claim, also those that the line does not name, in every status; if more arrived,
// it blocks those of every part.
func (m *lineMatcher) blockDoublePayment(claim *claims.ClaimRow, row *claims.PayoutRow, line *lineRow, whole bool) error {
	barred := []*claims.PayoutRow{row}
	if whole {
		key := newArrival(row, line)
		if at, known := m.arrived[key]; !known || at == nil || at.Before(line.ReportedAt) {
			m.arrived[key] = &line.ReportedAt
		}
		payouts.SaveArrival(m.Tx, row.Partner, key, &line.ReportedAt)
		barred = m.siblings[claim.ID]
	}
	part := row.Installment
	if isExceededBy(row, line) {
		part, barred = payouts.EveryPart, m.siblings[claim.ID]
	}
	for _, p := range barred {
		if _, locked := m.locked[p.ID]; !locked { // the claim is locked, and with it all its payouts
			m.AdvanceClock(&p.RowHeader)
			m.locked[p.ID] = payouts.NewLockedPayout(claim, p)
		}
	}
	return payouts.BlockPart(m.Tx, claim, part, barred)
}

// deleteArrival removes the arrival of returned money. A return that is older than the
// arrival, or that an earlier report contained, has no effect.
func (m *lineMatcher) deleteArrival(ctx context.Context, row *claims.PayoutRow, line *lineRow) error {
	key := newArrival(row, line)
	reportedAt, arrived := m.arrived[key]
	if !arrived || reportedAt != nil && !line.ReportedAt.IsZero() && line.ReportedAt.Before(*reportedAt) {
		return nil
	}
	if repeated, err := m.isRepeated(ctx, row, line); err != nil || repeated {
		return err
	}
	delete(m.arrived, key)
	m.Batch.Queue("delete from payout_arrivals where claim_id = $1 and partner = $2 and installment = $3 and idempotency_seq = $4", key.Claim, row.Partner, key.Part, key.Number)
	return nil
}

// isRepeated reports whether the same line was matched before: statements can repeat
// lines of earlier ones. Lines without a bank's reference cannot be recognised.
func (m *lineMatcher) isRepeated(ctx context.Context, row *claims.PayoutRow, line *lineRow) (repeated bool, err error) {
	if line.Reference == "" {
		return false, nil
	}
	for _, earlier := range m.lines { // lines of this slice, not saved yet
		if earlier == line {
			break
		}
		if earlier.MatchResult != nil && earlier.saysTheSame(line) {
			return true, nil
		}
	}
	err = m.NewRaw(`select exists (select from rail_report_lines rl join payouts po on po.id = rl.payout_id where po.claim_id = ? and po.partner = ?
			and rl.status = ? and rl.key in (?, ?) and rl.reference = ? and rl.reported_at = ? and rl.amount = ? and rl.currency = ? and rl.account = ?
			and rl.match_result not in ('unknown', 'unmatched'))`,
		row.ClaimID, row.Partner, line.Status, line.Key, line.keyText, line.Reference, line.ReportedAt, line.Amount, line.Currency, line.Account).Scan(ctx, &repeated)
	if err != nil {
		return false, fmt.Errorf("read earlier lines: %w", err)
	}
	return repeated, nil
}

func (r *lineRow) saysTheSame(line *lineRow) bool {
	return r.Status == line.Status && r.Key == line.Key && r.Reference == line.Reference && r.ReportedAt.Equal(line.ReportedAt) &&
		r.Amount == line.Amount && r.Currency == line.Currency && r.Account == line.Account
}

// hasArrived reports whether the beneficiary has the money of the payout's part.
func (m *lineMatcher) hasArrived(row *claims.PayoutRow) bool {
	for key := range m.arrived {
		if key.Claim == row.ClaimID && key.Part == row.Installment {
			return true
		}
	}
	return false
}

// classifyAfterReturn classifies a settlement of a returned payout: one that is older
// than the return, or was reported before, is a duplicate; any other reverses the
// return.
func (m *lineMatcher) classifyAfterReturn(ctx context.Context, row *claims.PayoutRow, line *lineRow) (payouts.LineResult, error) {
	for _, earlier := range m.lines { // lines of this slice, not saved yet
		if earlier == line {
			break
		}
		if earlier.MatchResult != nil && earlier.PayoutID != nil && *earlier.PayoutID == row.ID && earlier.isEarlierThan(line) {
			return payouts.ResultDuplicate, nil
		}
	}
	var known bool
	err := m.NewRaw(`select exists (select from rail_report_lines rl where rl.payout_id = ?0 and rl.match_result in ('reconciled', 'returned', 'duplicate')
			and (rl.status = 'settled' and rl.key in (?1, ?4) and rl.reference = ?2 and rl.reported_at = ?3 or rl.match_result = 'returned' and rl.reported_at > ?3))`,
		row.ID, line.Key, line.Reference, line.ReportedAt, line.keyText).Scan(ctx, &known)
	if err != nil {
		return "", fmt.Errorf("read earlier lines: %w", err)
	}
	if known {
		return payouts.ResultDuplicate, nil
	}
	return payouts.ResultReversed, nil
}

// isEarlierThan reports whether a matched line shows that a settlement was known
// before.
func (r *lineRow) isEarlierThan(line *lineRow) bool {
	same := r.Status == LineSettled && r.Key == line.Key && r.Reference == line.Reference && r.ReportedAt.Equal(line.ReportedAt)
	return same && (*r.MatchResult == payouts.ResultReconciled || *r.MatchResult == payouts.ResultDuplicate) || *r.MatchResult == payouts.ResultReturned && r.ReportedAt.After(line.ReportedAt)
}
