package reconciliation

import "parapet/model/claims"

// A rail can report more under a key than its payout pays: before a restore of the
// database, one payout may have paid what several parts of the claim pay now. The
// excess may be the money of any other part.

// isExceededBy reports whether a line shows more than the payout pays. Amounts in
// different currencies cannot be compared, so one in another currency counts as more.
func isExceededBy(r *claims.PayoutRow, line *lineRow) bool {
	return line.Status != LineReturned && line.Status != LineRejected && (line.Currency != r.Currency || line.Amount > r.Amount)
}
