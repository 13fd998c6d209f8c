package model

import (
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

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
var PayoutMethodTransitions = []store.Transition[PayoutMethodStatus]{
	{From: MethodPending, To: MethodVerified, Event: event.PayoutMethodVerified},
	{From: MethodPending, To: MethodRejected, Event: event.PayoutMethodRejected},
	{From: MethodPending, To: MethodReplaced, Event: event.PayoutMethodReplaced},
	{From: MethodVerified, To: MethodReplaced, Event: event.PayoutMethodReplaced},
	{From: MethodRejected, To: MethodReplaced, Event: event.PayoutMethodReplaced},
}
