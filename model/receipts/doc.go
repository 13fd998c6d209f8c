// Package receipts assembles the signed receipts of quotes and claims from rows that never
// change: quotes, policies' terms, determinations, readings, timelines, first payouts and
// the chain of events. Erasure of personal data changes no receipt. Package receipt has
// their members and verifies them.
//
// It changes nothing: no states, no locks. Start reading at service.go.
package receipts
