package model

// BlockedReason is the reason why a payout is blocked.
type BlockedReason string

// Blocked reasons, each with the action that resolves it.
const (
	BlockedMethodMissing    BlockedReason = "payout_method_missing"    // the partner records a method
	BlockedMethodUnverified BlockedReason = "payout_method_unverified" // the rail checks it
	BlockedApproval         BlockedReason = "approval_required"        // an operator approves
	BlockedRailRejected     BlockedReason = "rail_rejected"            // the partner records another method
	BlockedRailMismatch     BlockedReason = "rail_mismatch"            // an operator resolves it
	BlockedCompliance       BlockedReason = "compliance_hold"          // an operator lifts it
	BlockedOperator         BlockedReason = "operator_hold"            // an operator lifts it
)

// PayoutStatus is the status of a payout.
type PayoutStatus string

const (
	// PayoutPending payouts are ready to be sent.
	PayoutPending PayoutStatus = "pending"
	// PayoutReleasing payouts are with the rail now.
	PayoutReleasing PayoutStatus = "releasing"
	// PayoutReleased payouts were accepted by the rail.
	PayoutReleased PayoutStatus = "released"
	// PayoutBlocked payouts wait until the cause in blocked_reason is resolved.
	PayoutBlocked PayoutStatus = "blocked"
	// PayoutReconciling payouts were sent with an unknown outcome; only the rail can
	// settle it.
	PayoutReconciling PayoutStatus = "reconciling"
	// PayoutReconciled payouts are confirmed by the rail's own report.
	PayoutReconciled PayoutStatus = "reconciled"
	// PayoutReturned payouts were returned by the beneficiary's bank.
	PayoutReturned PayoutStatus = "returned"
	// PayoutCancelled payouts will never be sent.
	PayoutCancelled PayoutStatus = "cancelled"
)

// PayoutTransitions are the allowed transitions of a payout.
var PayoutTransitions = []Transition[PayoutStatus]{
	{PayoutPending, PayoutReleasing, EventPayoutReleasing},
	{PayoutPending, PayoutBlocked, EventPayoutBlocked},
	{PayoutPending, PayoutCancelled, EventPayoutCancelled},
	{PayoutReleasing, PayoutReleased, EventPayoutReleased},
	{PayoutReleasing, PayoutBlocked, EventPayoutBlocked},
	{PayoutReleasing, PayoutReconciling, EventPayoutReconciling},
	{PayoutReleasing, PayoutPending, EventPayoutUnblocked}, // nothing was sent
	{PayoutReconciling, PayoutReleased, EventPayoutReleased},
	{PayoutReconciling, PayoutBlocked, EventPayoutBlocked},
	{PayoutBlocked, PayoutPending, EventPayoutUnblocked},
	{PayoutBlocked, PayoutCancelled, EventPayoutCancelled},
	{PayoutReleased, PayoutReconciled, EventPayoutReconciled},
	{PayoutReleased, PayoutReturned, EventPayoutReturned},
	{PayoutReconciled, PayoutReturned, EventPayoutReturned},
}
