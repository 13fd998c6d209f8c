package model

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
var PolicyTransitions = []Transition[PolicyStatus]{
	{PolicyActive, PolicyExhausted, EventPolicyExhausted},
	{PolicyActive, PolicyExpired, EventPolicyExpired},
	{PolicyActive, PolicyCancelled, EventPolicyCancelled},
	{PolicyExhausted, PolicyArchived, EventPolicyArchived},
	{PolicyExpired, PolicyArchived, EventPolicyArchived},
	{PolicyCancelled, PolicyArchived, EventPolicyArchived},
}
