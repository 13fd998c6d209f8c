package model

// LineResult is the match result of a report line.
type LineResult = string

// These are the match results. From unknown on they are reconciliation exceptions.
const (
	ResultReconciled  LineResult = "reconciled"
	ResultReturned    LineResult = "returned"
	ResultRefused     LineResult = "rejected"
	ResultUnderway    LineResult = "underway"
	ResultUnknown     LineResult = "unknown"     // no payout has this key
	ResultAmount      LineResult = "amount"      // another amount or currency
	ResultBeneficiary LineResult = "beneficiary" // another account
	ResultState       LineResult = "state"       // money moved for a payout that was not in flight
	ResultDuplicate   LineResult = "duplicate"   // already reported
	ResultReversed    LineResult = "reversed"    // returned money was sent again
	ResultUnmatched   LineResult = "unmatched"   // the line could not be matched; see ReconciliationException.Detail
)
