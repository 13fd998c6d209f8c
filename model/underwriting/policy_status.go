package underwriting

import (
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// CoverPhase is the position of the present time in a policy's period.
type CoverPhase string

// Phases, in order.
const (
	CoverScheduled CoverPhase = "scheduled"
	CoverWaiting   CoverPhase = "waiting"
	CoverInForce   CoverPhase = "in_force"
	CoverEnded     CoverPhase = "ended"
)

// PolicyStatus is the status of a policy. Whether cover is in force at a moment depends
// on its period, not on its status.
type PolicyStatus string

const (
	// PolicyActive policies are bound, even if their cover has not begun.
	PolicyActive PolicyStatus = "active"
	// PolicyExhausted policies have no remaining limit.
	PolicyExhausted PolicyStatus = "exhausted"
	// PolicyExpired policies are past their period; late claims are possible until the
	// reporting window ends.
	PolicyExpired PolicyStatus = "expired"
	// PolicyCancelled policies were ended early by an operator.
	PolicyCancelled PolicyStatus = "cancelled"
	// PolicyArchived policies accept no claims any more.
	PolicyArchived PolicyStatus = "archived"
)

// PolicyTransitions are the allowed transitions of a policy.
var PolicyTransitions = []store.Transition[PolicyStatus]{
	{From: PolicyActive, To: PolicyExhausted, Event: event.PolicyExhausted},
	{From: PolicyActive, To: PolicyExpired, Event: event.PolicyExpired},
	{From: PolicyActive, To: PolicyCancelled, Event: event.PolicyCancelled},
	{From: PolicyExhausted, To: PolicyArchived, Event: event.PolicyArchived},
	{From: PolicyExpired, To: PolicyArchived, Event: event.PolicyArchived},
	{From: PolicyCancelled, To: PolicyArchived, Event: event.PolicyArchived},
}
