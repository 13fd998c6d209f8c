// Package ledger keeps the double-entry ledger.
//
// A transition of a policy or a payout posts a transfer between two accounts; the postings
// of a transaction are collected and written at its commit, and the sides of each sum to
// zero. Amounts are minor units; positive amounts are debits. Start reading at ledger.go.
package ledger
