// Package events keeps the events of all changes and their order.
//
// A transaction inserts its events without a number. The relay (Service.Relay) gives
// committed events their partner's next sequence and the hash over the previous event, so
// that a reader of the feed sees no gap and no effect before its cause. Cursor reads the
// feed and can wait for new events; VerifyChain checks the hashes. Checkpoints are signed
// copies of the ends of the chains outside the database.
//
// An event is unnumbered, in the outbox, or numbered. One relay at a time holds the
// relay's advisory lock; no other transaction waits for it except the begin of a new
// generation of the feeds after a restore. Start reading at relay.go.
package events
