// Package webhooks delivers events to partners' endpoints.
//
// An endpoint is enabled or disabled and keeps a position in its partner's sequence of
// events. A delivery row exists from the first attempt: pending, delivered or parked. A run of an endpoint holds a lease (an expiring column, no lock), fetches a
// batch, and saves the results in one transaction. In ordered endpoints an event waits for
// the earlier events of its subject.
//
// Start reading at deliver.go, then deliver_fetch.go and deliver_save.go.
package webhooks
