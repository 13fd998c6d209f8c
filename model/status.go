package model

// Transition is one allowed move of a record, with the event it writes.
type Transition[S ~string] struct {
	From, To S
	Event    EventType
}

// QuoteStatus is where a quote stands.
type QuoteStatus string

const (
	// QuotePriced waits for the partner to bind it, until it expires.
	QuotePriced QuoteStatus = "priced"
	// QuoteBound became a policy; there is no way back.
	QuoteBound QuoteStatus = "bound"
	// QuoteExpired was not bound in time.
	QuoteExpired QuoteStatus = "expired"
)

// QuoteTransitions is a quote's life.
var QuoteTransitions = []Transition[QuoteStatus]{
	{QuotePriced, QuoteBound, EventQuoteBound},
	{QuotePriced, QuoteExpired, EventQuoteExpired},
}

// PolicyStatus is where a policy stands. Whether cover runs at a moment is told
// by its period, not by its status.
type PolicyStatus string

const (
	// PolicyActive is bound, also while its cover has not begun.
	PolicyActive PolicyStatus = "active"
	// PolicyExhausted has nothing left of its limit.
	PolicyExhausted PolicyStatus = "exhausted"
	// PolicyExpired is past its period; late claims are possible for a while.
	PolicyExpired PolicyStatus = "expired"
	// PolicyCancelled was ended early by an operator.
	PolicyCancelled PolicyStatus = "cancelled"
	// PolicyArchived takes no claims any more.
	PolicyArchived PolicyStatus = "archived"
)

// PolicyTransitions is a policy's life.
var PolicyTransitions = []Transition[PolicyStatus]{
	{PolicyActive, PolicyExhausted, EventPolicyExhausted},
	{PolicyActive, PolicyExpired, EventPolicyExpired},
	{PolicyActive, PolicyCancelled, EventPolicyCancelled},
	{PolicyExhausted, PolicyArchived, EventPolicyArchived},
	{PolicyExpired, PolicyArchived, EventPolicyArchived},
	{PolicyCancelled, PolicyArchived, EventPolicyArchived},
}

// ClaimStatus is where a claim stands.
type ClaimStatus string

const (
	// ClaimOpened waits for a decision.
	ClaimOpened ClaimStatus = "opened"
	// ClaimApproved is owed; its payout tells the rest of the story.
	ClaimApproved ClaimStatus = "approved"
	// ClaimDeferred waits for more: final data, evidence, an operator.
	ClaimDeferred ClaimStatus = "deferred"
	// ClaimDeclined is not owed.
	ClaimDeclined ClaimStatus = "declined"
	// ClaimWithdrawn was taken back by the partner.
	ClaimWithdrawn ClaimStatus = "withdrawn"
	// ClaimClosed is paid and reconciled in full.
	ClaimClosed ClaimStatus = "closed"
)

// ClaimTransitions is a claim's life.
var ClaimTransitions = []Transition[ClaimStatus]{
	{ClaimOpened, ClaimApproved, EventClaimApproved},
	{ClaimOpened, ClaimDeferred, EventClaimDeferred},
	{ClaimOpened, ClaimDeclined, EventClaimDeclined},
	{ClaimOpened, ClaimWithdrawn, EventClaimWithdrawn},
	{ClaimDeferred, ClaimApproved, EventClaimApproved},
	{ClaimDeferred, ClaimDeclined, EventClaimDeclined},
	{ClaimDeferred, ClaimWithdrawn, EventClaimWithdrawn},
	{ClaimApproved, ClaimClosed, EventClaimClosed},
	{ClaimClosed, ClaimApproved, EventClaimReopened},
}

// PayoutStatus is where money on its way stands.
type PayoutStatus string

const (
	// PayoutPending is ready to be sent.
	PayoutPending PayoutStatus = "pending"
	// PayoutReleasing is with the rail right now.
	PayoutReleasing PayoutStatus = "releasing"
	// PayoutReleased was accepted by the rail.
	PayoutReleased PayoutStatus = "released"
	// PayoutBlocked waits for its blocked_reason to go away.
	PayoutBlocked PayoutStatus = "blocked"
	// PayoutReconciling was sent with an unknown outcome; only the rail can tell.
	PayoutReconciling PayoutStatus = "reconciling"
	// PayoutReconciled is confirmed by the rail's own report.
	PayoutReconciled PayoutStatus = "reconciled"
	// PayoutReturned came back.
	PayoutReturned PayoutStatus = "returned"
	// PayoutCancelled will never be sent.
	PayoutCancelled PayoutStatus = "cancelled"
)

// PayoutTransitions is a payout's life.
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

// PayoutMethodStatus is where an account stands.
type PayoutMethodStatus string

const (
	// MethodPending waits for the rail to check it.
	MethodPending PayoutMethodStatus = "pending"
	// MethodVerified can be paid to.
	MethodVerified PayoutMethodStatus = "verified"
	// MethodRejected cannot be paid to.
	MethodRejected PayoutMethodStatus = "rejected"
	// MethodReplaced gave way to a newer one.
	MethodReplaced PayoutMethodStatus = "replaced"
)

// PayoutMethodTransitions is a payout method's life.
var PayoutMethodTransitions = []Transition[PayoutMethodStatus]{
	{MethodPending, MethodVerified, EventPayoutMethodVerified},
	{MethodPending, MethodRejected, EventPayoutMethodRejected},
	{MethodPending, MethodReplaced, EventPayoutMethodReplaced},
	{MethodVerified, MethodReplaced, EventPayoutMethodReplaced},
	{MethodRejected, MethodReplaced, EventPayoutMethodReplaced},
}

// BlockedReason is why a payout does not move.
type BlockedReason string

// The reasons, each with who makes it go away.
const (
	BlockedMethodMissing    BlockedReason = "payout_method_missing"    // the partner records a method
	BlockedMethodUnverified BlockedReason = "payout_method_unverified" // the rail checks it
	BlockedApproval         BlockedReason = "approval_required"        // an operator approves
	BlockedRailRejected     BlockedReason = "rail_rejected"            // the partner records another method
	BlockedRailMismatch     BlockedReason = "rail_mismatch"            // an operator resolves it
	BlockedCompliance       BlockedReason = "compliance_hold"          // an operator lifts it
	BlockedOperator         BlockedReason = "operator_hold"            // an operator lifts it
)

// CoverPhase is where the clock stands in a policy's period.
type CoverPhase string

// The phases, in order.
const (
	CoverScheduled CoverPhase = "scheduled"
	CoverWaiting   CoverPhase = "waiting"
	CoverInForce   CoverPhase = "in_force"
	CoverEnded     CoverPhase = "ended"
)

// Origin is what made a claim.
type Origin string

const (
	// OriginTrigger claims follow from a measured occurrence.
	OriginTrigger Origin = "trigger"
	// OriginApproval claims are decided by an operator.
	OriginApproval Origin = "approval"
)

// findTransition finds the event of a move; false when the life cycle has no such arrow.
func findTransition[S ~string](arrows []Transition[S], from, to S) (EventType, bool) {
	for _, a := range arrows {
		if a.From == from && a.To == to {
			return a.Event, true
		}
	}
	return "", false
}

// EndpointStatus is whether events are sent to a webhook endpoint.
type EndpointStatus string

const (
	// EndpointEnabled is sent every event it asked for.
	EndpointEnabled EndpointStatus = "enabled"
	// EndpointDisabled is sent nothing; its events wait in the feed.
	EndpointDisabled EndpointStatus = "disabled"
)

// EndpointTransitions is a webhook endpoint's life.
var EndpointTransitions = []Transition[EndpointStatus]{
	{EndpointEnabled, EndpointDisabled, EventWebhookEndpointOff},
	{EndpointDisabled, EndpointEnabled, EventWebhookEndpointOn},
}

// DeliveryStatus is where an event stands on its way to an endpoint. A delivery is
// no subject of events, so its moves write none.
type DeliveryStatus string

const (
	// DeliveryPending is tried again at next_attempt_at.
	DeliveryPending DeliveryStatus = "pending"
	// DeliveryDelivered was answered with 2xx.
	DeliveryDelivered DeliveryStatus = "delivered"
	// DeliveryFailed failed ten times; it is sent again by hand only.
	DeliveryFailed DeliveryStatus = "parked"
)
