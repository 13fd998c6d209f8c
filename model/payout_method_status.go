package model

// PayoutMethodStatus is the status of a payout method.
type PayoutMethodStatus string

const (
	// MethodPending methods wait for the rail's check.
	MethodPending PayoutMethodStatus = "pending"
	// MethodVerified methods can be paid.
	MethodVerified PayoutMethodStatus = "verified"
	// MethodRejected methods cannot be paid.
	MethodRejected PayoutMethodStatus = "rejected"
	// MethodReplaced methods were replaced by a newer one.
	MethodReplaced PayoutMethodStatus = "replaced"
)

// PayoutMethodTransitions are the allowed transitions of a payout method.
var PayoutMethodTransitions = []Transition[PayoutMethodStatus]{
	{MethodPending, MethodVerified, EventPayoutMethodVerified},
	{MethodPending, MethodRejected, EventPayoutMethodRejected},
	{MethodPending, MethodReplaced, EventPayoutMethodReplaced},
	{MethodVerified, MethodReplaced, EventPayoutMethodReplaced},
	{MethodRejected, MethodReplaced, EventPayoutMethodReplaced},
}
