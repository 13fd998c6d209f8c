package model

import (
	"context"
	"fmt"
	"time"
)

// A rail can report more under a key than its payout pays: before a restore of the
// database, one payout may have paid what several parts of the claim pay now. The
// excess may be the money of any other part.

// isExceededBy reports whether a line shows more than the payout pays. Amounts in
// different currencies cannot be compared, so one in another currency counts as more.
func (r *payoutRow) isExceededBy(line *lineRow) bool {
	return line.Status != LineReturned && line.Status != LineRejected && (line.Currency != r.Currency || line.Amount > r.Amount)
}

const (
	// excessLines selects the lines rl with more than the payout paid of their key
	// pays, whose money no line shows as returned.
	excessLines = `select from payouts paid join rail_report_lines rl on rl.payout_id = paid.id and rl.match_result = 'amount' and rl.status in ('settled', 'underway')
		and (rl.currency <> paid.currency or rl.amount > paid.amount) and not exists (select from rail_report_lines back where back.payout_id = rl.payout_id
			and back.key = rl.key and back.currency = rl.currency and back.amount = rl.amount and back.status in ('returned', 'rejected') and back.reported_at >= rl.reported_at)`
	// isUnanswered is true for a line rl whose exception no operator has closed.
	isUnanswered = `exists (select from reconciliation_exceptions fi where fi.report_id = rl.report_id and fi.line = rl.number and fi.closed_at is null)`
)

// hasExcess reports whether a rail paid more under a key of the claim than its payout
// pays. Closing the exception releases what operators decide about, replacements and
// resolutions (unansweredOnly); a payout that the claim created by itself stays
// blocked.
func (tx *Tx) hasExcess(ctx context.Context, row *payoutRow, unansweredOnly bool) (exceeded bool, err error) {
	err = tx.NewRaw("select exists ("+excessLines+" where paid.claim_id = ? and paid.partner = ? and (not ? or "+isUnanswered+"))", row.ClaimID, row.Partner, unansweredOnly).Scan(ctx, &exceeded)
	if err != nil {
		return false, fmt.Errorf("read lines above their payouts: %w", err)
	}
	return exceeded, nil
}

// requireNoDifferences refuses while differences of amount, account or status are
// unanswered that a rail reported since a restore begun at or after the time: payments
// lost from the database can differ from what it owes now.
func (tx *Tx) requireNoDifferences(ctx context.Context, since time.Time) error {
	n, err := tx.NewSelect().Model((*exceptionRow)(nil)).Where("fi.kind in (?, ?, ?)", ResultAmount, ResultBeneficiary, ResultState).Where("fi.closed_at is null").
		Where("fi.created_at >= (select min(begun_at) from database_restores where begun_at >= ?)", since).Count(ctx)
	if err != nil {
		return fmt.Errorf("count findings: %w", err)
	}
	if n > 0 {
		return Fail(CodeStateConflict, "%d payments that the rail reported since the restore differ from what is owed (findings of kind amount, beneficiary and state) and are unanswered: "+
			"resolve their payouts, and close the findings (findings, closeFinding).", n)
	}
	return nil
}
