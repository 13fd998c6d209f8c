// Package payouts keeps payout methods and changes payouts.
//
// A payout method is pending, verified, rejected or replaced. eligibility.go decides whether a payout
// may be sent; approval.go, hold.go and payout_resolution.go are what operators do.
// payout_transition.go has the only function that changes a status. rail_key.go derives the
// idempotency key of an order from the debt, so that a debt that is created again, for
// instance after a restore, gets the same key.
//
// Lock the policy, the claim and then payouts by id. Start reading at
// payout_transition.go.
package payouts
