package claims

import (
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

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
var PayoutTransitions = []store.Transition[PayoutStatus]{
	{From: PayoutPending, To: PayoutReleasing, Event: event.PayoutReleasing},
	{From: PayoutPending, To: PayoutBlocked, Event: event.PayoutBlocked},
	{From: PayoutPending, To: PayoutCancelled, Event: event.PayoutCancelled},
	{From: PayoutReleasing, To: PayoutReleased, Event: event.PayoutReleased},
	{From: PayoutReleasing, To: PayoutBlocked, Event: event.PayoutBlocked},
	{From: PayoutReleasing, To: PayoutReconciling, Event: event.PayoutReconciling},
	{From: PayoutReleasing, To: PayoutPending, Event: event.PayoutUnblocked}, // nothing was sent
	{From: PayoutReconciling, To: PayoutReleased, Event: event.PayoutReleased},
	{From: PayoutReconciling, To: PayoutBlocked, Event: event.PayoutBlocked},
	{From: PayoutBlocked, To: PayoutPending, Event: event.PayoutUnblocked},
	{From: PayoutBlocked, To: PayoutCancelled, Event: event.PayoutCancelled},
	{From: PayoutReleased, To: PayoutReconciled, Event: event.PayoutReconciled},
	{From: PayoutReleased, To: PayoutReturned, Event: event.PayoutReturned},
	{From: PayoutReconciled, To: PayoutReturned, Event: event.PayoutReturned},
}
