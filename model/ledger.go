package model

import (
	"time"

	"github.com/google/uuid"

	"parapet/model/kernel/store"
)

// LedgerAccount is an account of the double-entry ledger.
type LedgerAccount string

// These are the accounts, in the order in which statements list them. A debit is
// positive, a credit negative; all balances of a currency sum to zero.
const (
	AccountPremiumReceivable LedgerAccount = "premium_receivable" // debit: premium that partners owe for bound cover
	AccountPremiumWritten    LedgerAccount = "premium_written"    // credit: income, in full when cover is bound
	AccountCommission        LedgerAccount = "commission"         // debit: the partners' share of the premium, an expense
	AccountCommissionPayable LedgerAccount = "commission_payable" // credit: the commission owed to partners
	AccountClaimsIncurred    LedgerAccount = "claims_incurred"    // debit: the cost of approved claims
	AccountReserve           LedgerAccount = "reserve"            // credit: owed to beneficiaries, not accepted by a rail
	AccountRailClearing      LedgerAccount = "rail_clearing"      // credit: accepted by a rail, not confirmed by its report
	AccountPayout            LedgerAccount = "payout"             // credit: money that was paid out
	AccountReturn            LedgerAccount = "return"             // debit: paid money that was returned
)

// LedgerAccounts lists every account, in order.
func LedgerAccounts() []LedgerAccount {
	return []LedgerAccount{
		AccountPremiumReceivable, AccountPremiumWritten, AccountCommission, AccountCommissionPayable,
		AccountClaimsIncurred, AccountReserve, AccountRailClearing, AccountPayout, AccountReturn,
	}
}

// postingSet has the entries of one event; they sum to zero.
type postingSet struct {
	event, policy uuid.UUID
	claim, payout *uuid.UUID
	partner       string
	currency      string
	at            time.Time
	sides         []ledgerSide
}

type ledgerSide struct {
	account LedgerAccount
	amount  int64
}

// transfer moves an amount from one account to another. Only transfers post to the
// ledger, so every set balances. The zero value moves nothing.
type transfer struct{ debit, credit LedgerAccount }

// reversed returns the opposite transfer.
func (t transfer) reversed() transfer { return transfer{t.credit, t.debit} }

// reversed returns the opposite of the set.
func (s postingSet) reversed() postingSet {
	for i := range s.sides {
		s.sides[i].amount = -s.sides[i].amount
	}
	return s
}

func (s *postingSet) addTransfer(t transfer, amount int64) {
	if t != (transfer{}) {
		s.addSide(t.debit, amount)
		s.addSide(t.credit, -amount)
	}
}

// addSide adds one side of a transfer; a set has at most one side per account.
func (s *postingSet) addSide(account LedgerAccount, amount int64) {
	for i := range s.sides {
		if s.sides[i].account == account {
			s.sides[i].amount += amount
			return
		}
	}
	s.sides = append(s.sides, ledgerSide{account, amount})
}

// postingSets are the postings of a transaction.
type postingSets []postingSet

// addPostings adds a set to the transaction; it is written before the commit.
func addPostings(tx *store.Tx, set postingSet) {
	sets := store.Collect[postingSets](tx, store.PostingCollection)
	*sets = append(*sets, set)
}

// QueueInsert implements rowCollection. Postgres checks that the sets sum to zero.
func (sets *postingSets) QueueInsert(tx *store.Tx) {
	n := 4 * len(*sets)
	events, policies, claims, payouts := make([]uuid.UUID, 0, n), make([]uuid.UUID, 0, n), make([]*uuid.UUID, 0, n), make([]*uuid.UUID, 0, n)
	partners, accounts, currencies := make([]string, 0, n), make([]string, 0, n), make([]string, 0, n)
	amounts, times := make([]int64, 0, n), make([]time.Time, 0, n)
	for _, set := range *sets {
		for _, side := range set.sides {
			if side.amount == 0 {
				continue
			}
			events, policies, claims, payouts = append(events, set.event), append(policies, set.policy), append(claims, set.claim), append(payouts, set.payout)
			partners, accounts, currencies = append(partners, set.partner), append(accounts, string(side.account)), append(currencies, set.currency)
			amounts, times = append(amounts, side.amount), append(times, set.at)
		}
	}
	tx.Batch.Queue(`insert into ledger_entries (event_id, partner, account, policy_id, claim_id, payout_id, currency, amount, at)
		select * from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::bigint[], $9::timestamptz[])`,
		events, partners, accounts, policies, claims, payouts, currencies, amounts, times)
}
