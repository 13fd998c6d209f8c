// Package webhooks delivers events to partners' endpoints.
//
// An endpoint (EndpointRow) is enabled or disabled. Its progress is a cursor in the
// partner's sequence of events. A delivery row exists from the first attempt;
// delivery_status.go has its states.
//
// At most one run delivers for an endpoint: it holds a lease, which is a column that
// expires, and no lock. A run fetches a batch (DeliveryBatch), sends it outside any
// transaction, and saves the results and the cursor in one transaction. In ordered
// endpoints an event waits for the earlier events of its subject. Start reading at
// deliver.go, then deliver_fetch.go and deliver_save.go.
package webhooks
