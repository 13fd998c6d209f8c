package node

import (
	"context"
	"time"

	"parapet/model/kernel/optional"
	"parapet/model/ledger"
)

// LedgerBalance is the balance of one account in one currency.
type LedgerBalance = ledger.Balance

func ledgerFilter(partner, policy, currency *string) ledger.Filter {
	return ledger.Filter{Partner: optional.OrZero(partner), PolicyID: optional.OrZero(policy), Currency: optional.OrZero(currency)}
}

// Ledger returns the balances of the ledger.
func (r *Reader) Ledger(ctx context.Context, partner, policy, currency *string, before *time.Time, byPartner bool) ([]*LedgerBalance, error) {
	balances, err := r.Service.Ledger.Balances(ctx, r.Actor, ledgerFilter(partner, policy, currency), byPartner, before)
	return pointersTo(balances), err
}

// Statement is the movements of the ledger in a period.
type Statement struct{ *ledger.Statement }

// Statement opens a statement.
func (r *Reader) Statement(ctx context.Context, partner, policy, currency *string, from, to *time.Time) (*Statement, error) {
	statement, err := r.Service.Ledger.OpenStatement(ctx, r.Actor, ledgerFilter(partner, policy, currency), from, to)
	return &Statement{statement}, err
}

// LedgerEntry is one side of a posting.
type LedgerEntry struct{ *ledger.Entry }

// EventType returns the type of the event that caused the entry.
func (e *LedgerEntry) EventType() string { return string(e.Type) }

// Entries lists the ledger entries.
func (s *Statement) Entries(ctx context.Context, first *int, after *string) (*LedgerEntryConnection, error) {
	return toConnection(func(entries []*ledger.Entry) []*LedgerEntry {
		return wrapEach(entries, func(e *ledger.Entry) *LedgerEntry { return &LedgerEntry{e} })
	})(s.Statement.Entries(ctx, pageRequest(first, after)))
}
