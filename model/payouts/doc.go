// Package payouts keeps payout methods and changes payouts. It decides whether a payout
// may be sent (eligibility.go) and has what operators do: approval.go, hold.go and
// payout_resolution.go. Package payouts/release sends payouts and decides on retries;
// package claims has the rows.
//
// A payout method (PayoutMethodRow) is pending, verified, rejected or replaced.
// claims.PayoutStatus lists the states of a payout; only payout_transition.go changes
// them. rail_key.go derives the idempotency key of an order from the debt, so that a debt
// that is created again, for instance after a restore, gets the same key.
//
// Lock the policy, the claim and then payouts by id (payout_lock.go). Start reading at
// payout_transition.go.
package payouts
