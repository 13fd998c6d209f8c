// Package reconciliation matches the rail's reports with payouts.
//
// A report is stored, then its lines are matched one by one: a line settles or returns a
// payout, or it opens an exception, which an operator closes. A line of a payment that no
// payout explains is a suspect line: it holds the payouts of its policy back. A line that
// cannot be matched because of a fault is set aside and repeated.
//
// Start reading at report.go, then report_match.go.
package reconciliation
