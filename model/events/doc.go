// Package events keeps the events of all changes and their order.
//
// A transaction inserts its events without a number. The relay (Service.Relay, one at a
// time, under an advisory lock) gives committed events their partner's next sequence and
// the hash over the previous event, so that a reader of the feed sees no gap and no effect
// before its cause. Cursor and Follow read the feed, VerifyChain checks the chain; checkpoints are
// signed copies of the chain's ends outside the database.
//
// Start reading at relay.go.
package events
