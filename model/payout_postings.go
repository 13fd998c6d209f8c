package model

import (
	"github.com/google/uuid"

	"parapet/model/kernel/store"
)

// ledgerTransfer is the transfer that a payout in its status contributes to the ledger. A
// status transition posts the difference, so ledger balances match every payout's status.
func (r *payoutRow) ledgerTransfer() transfer {
	switch r.Status {
	case PayoutReleased:
		return transfer{AccountClaimsIncurred, AccountRailClearing}
	case PayoutReconciled:
		return transfer{AccountClaimsIncurred, AccountPayout}
	case PayoutReturned:
		return transfer{AccountReturn, AccountPayout}
	case PayoutCancelled:
		if r.SettledExternally {
			return transfer{AccountClaimsIncurred, AccountPayout}
		}
		return transfer{}
	case PayoutPending, PayoutReleasing, PayoutBlocked, PayoutReconciling:
	}
	return transfer{AccountClaimsIncurred, AccountReserve}
}

// postPayout posts the change from the payout's previous transfer to its present one.
func postPayout(tx *store.Tx, event uuid.UUID, row *payoutRow, was transfer) {
	if now := row.ledgerTransfer(); now != was {
		set := postingSet{event: event, policy: row.PolicyID, claim: &row.ClaimID, payout: &row.ID, partner: row.Partner, currency: row.Currency, at: tx.Now}
		set.addTransfer(now, row.Amount)
		set.addTransfer(was.reversed(), row.Amount)
		addPostings(tx, set)
	}
}
