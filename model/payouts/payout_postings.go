package payouts

import (
	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/ledger"
)

// LedgerTransfer is the transfer that a payout in its status contributes to the ledger. A
// status transition posts the difference, so ledger balances match every payout's status.
func LedgerTransfer(r *claims.PayoutRow) ledger.Transfer {
	switch r.Status {
	case claims.PayoutReleased:
		return ledger.Transfer{Debit: ledger.AccountClaimsIncurred, Credit: ledger.AccountRailClearing}
	case claims.PayoutReconciled:
		return ledger.Transfer{Debit: ledger.AccountClaimsIncurred, Credit: ledger.AccountPayout}
	case claims.PayoutReturned:
		return ledger.Transfer{Debit: ledger.AccountReturn, Credit: ledger.AccountPayout}
	case claims.PayoutCancelled:
		if r.SettledExternally {
			return ledger.Transfer{Debit: ledger.AccountClaimsIncurred, Credit: ledger.AccountPayout}
		}
		return ledger.Transfer{}
	case claims.PayoutPending, claims.PayoutReleasing, claims.PayoutBlocked, claims.PayoutReconciling:
	}
	return ledger.Transfer{Debit: ledger.AccountClaimsIncurred, Credit: ledger.AccountReserve}
}

// postPayout posts the change from the payout's previous transfer to its present one.
func postPayout(tx *store.Tx, event uuid.UUID, row *claims.PayoutRow, was ledger.Transfer) {
	if now := LedgerTransfer(row); now != was {
		set := ledger.PostingSet{Event: event, Policy: row.PolicyID, Claim: &row.ClaimID, Payout: &row.ID, Partner: row.Partner, Currency: row.Currency, At: tx.Now}
		set.AddTransfer(now, row.Amount)
		set.AddTransfer(was.Reversed(), row.Amount)
		ledger.AddPostings(tx, set)
	}
}
