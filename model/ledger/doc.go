// Package ledger keeps the double-entry ledger.
//
// A transition of a policy or a payout posts a Transfer between two accounts (Account).
// The postings of a transaction (PostingSet) are collected and written at its commit, and
// the sides of each sum to zero. Amounts are minor units; positive amounts are debits.
//
// Entries are insert-only: no states, no locks of its own. A constraint of the database
// checks the sums. Start reading at ledger.go.
package ledger
