package ledger

import (
	"time"

	"github.com/google/uuid"

	"parapet/model/kernel/store"
)

// Account is an account of the double-entry ledger.
type Account string

// These are the accounts, in the order in which statements list them. A debit is
// positive, a credit negative; all balances of a currency sum to zero.
const (
	AccountPremiumReceivable Account = "premium_receivable" // debit: premium that partners owe for bound cover
	AccountPremiumWritten    Account = "premium_written"    // credit: income, in full when cover is bound
	AccountCommission        Account = "commission"         // debit: the partners' share of the premium, an expense
	AccountCommissionPayable Account = "commission_payable" // credit: the commission owed to partners
	AccountClaimsIncurred    Account = "claims_incurred"    // debit: the cost of approved claims
	AccountReserve           Account = "reserve"            // credit: owed to beneficiaries, not accepted by a rail
	AccountRailClearing      Account = "rail_clearing"      // credit: accepted by a rail, not confirmed by its report
	AccountPayout            Account = "payout"             // credit: money that was paid out
	AccountReturn            Account = "return"             // debit: paid money that was returned
)

// Accounts lists every account, in order.
func Accounts() []Account {
	return []Account{
		AccountPremiumReceivable, AccountPremiumWritten, AccountCommission, AccountCommissionPayable,
		AccountClaimsIncurred, AccountReserve, AccountRailClearing, AccountPayout, AccountReturn,
	}
}

// PostingSet has the entries of one event; they sum to zero.
type PostingSet struct {
	Event, Policy uuid.UUID
	Claim, Payout *uuid.UUID
	Partner       string
	Currency      string
	At            time.Time
	Sides         []LedgerSide
}

// LedgerSide is one side of a posting: positive amounts are debits, in minor units.
type LedgerSide struct {
	account Account
	amount  int64
}

// Transfer moves an amount from one account to another. Only transfers post to the
// ledger, so every set balances. The zero value moves nothing.
type Transfer struct{ Debit, Credit Account }

// Reversed returns the opposite transfer.
func (t Transfer) Reversed() Transfer { return Transfer{t.Credit, t.Debit} }

// Reversed returns the opposite of the set.
func (s PostingSet) Reversed() PostingSet {
	for i := range s.Sides {
		s.Sides[i].amount = -s.Sides[i].amount
	}
	return s
}

// AddTransfer adds an amount in minor units that moves from one account to another.
func (s *PostingSet) AddTransfer(t Transfer, amount int64) {
	if t != (Transfer{}) {
		s.addSide(t.Debit, amount)
		s.addSide(t.Credit, -amount)
	}
}

// addSide adds one side of a transfer; a set has at most one side per account.
func (s *PostingSet) addSide(account Account, amount int64) {
	for i := range s.Sides {
		if s.Sides[i].account == account {
			s.Sides[i].amount += amount
			return
		}
	}
	s.Sides = append(s.Sides, LedgerSide{account, amount})
}

// PostingSets are the postings of a transaction.
type PostingSets []PostingSet

// AddPostings adds a set to the transaction; it is written before the commit.
func AddPostings(tx *store.Tx, set PostingSet) {
	sets := store.Collect[PostingSets](tx, store.PostingCollection)
	*sets = append(*sets, set)
}

// Append implements rowCollection.
func (sets *PostingSets) Append(other any) {
	*sets = append(*sets, *other.(*PostingSets)...) //nolint:forcetypeassert // one type has one place in the order
}

// QueueInsert implements rowCollection. Postgres checks that the sets sum to zero.
func (sets *PostingSets) QueueInsert(tx *store.Tx) error {
	rows := make([]*ledgerRow, 0, 4*len(*sets))
	for _, set := range *sets {
		for _, side := range set.Sides {
			if side.amount != 0 {
				rows = append(rows, &ledgerRow{
					EventID: set.Event, Partner: set.Partner, Account: side.account, PolicyID: set.Policy, ClaimID: set.Claim, PayoutID: set.Payout,
					Currency: set.Currency, Amount: side.amount, At: set.At,
				})
			}
		}
	}
	return tx.QueueInsertRows(rows)
}
