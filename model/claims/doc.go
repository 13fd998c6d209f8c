// Package claims keeps claims and the rows of their payouts, determinations, timelines,
// attachments and messages.
//
// A claim is opened, approved, deferred, declined, withdrawn or closed. A payout is
// pending, blocked, releasing, released, reconciling, reconciled, returned or cancelled;
// its row is here because a claim shows it, its transitions are in package payouts. Lock the policy
// first, then the claim, then payouts.
//
// Start reading at claim_status.go and claim.go.
package claims
