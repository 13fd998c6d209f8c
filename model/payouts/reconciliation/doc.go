// Package reconciliation matches the rail's reports with payouts.
//
// A Report is stored, then its lines are matched one by one: a line settles or returns a
// payout, or it opens an exception, which is open until an operator closes it. A line of
// a payment that no payout explains is a suspect line: it holds the payouts of its policy
// back. A line that cannot be matched because of a fault is set aside and repeated.
//
// Storing takes an advisory lock per rail, matching takes one for all reports; then a
// batch locks the claims and payouts that its lines name. Start reading at report.go,
// then report_match.go.
package reconciliation
