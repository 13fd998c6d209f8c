// Package claims keeps claims and the rows of their payouts, determinations, timelines,
// attachments and messages. The main types are ClaimRow, PayoutRow and DeterminationRow.
// Package adjudication opens and decides claims.
//
// A claim is opened, approved, deferred, declined, withdrawn or closed (claim_status.go).
// A payout is pending, blocked, releasing, released, reconciling, reconciled, returned or
// cancelled (payout_status.go). The row of a payout is here because a claim shows it;
// package payouts has its transitions.
//
// Lock the policy first, then the claim, then its payouts. Start reading at
// claim_status.go and claim.go.
package claims
