package model

// Transition is an allowed change of a record's status, with the event it writes.
type Transition[S ~string] struct {
	From, To S
	Event    EventType
}

// QuoteStatus is the status of a quote.
type QuoteStatus string

const (
	// QuotePriced quotes can be bound by the partner until they expire.
	QuotePriced QuoteStatus = "priced"
	// QuoteBound quotes became a policy. Final.
	QuoteBound QuoteStatus = "bound"
	// QuoteExpired quotes were not bound in time.
	QuoteExpired QuoteStatus = "expired"
)

// QuoteTransitions are the allowed transitions of a quote.
var QuoteTransitions = []Transition[QuoteStatus]{
	{QuotePriced, QuoteBound, EventQuoteBound},
	{QuotePriced, QuoteExpired, EventQuoteExpired},
}

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

// ClaimStatus is the status of a claim.
type ClaimStatus string

const (
	// ClaimOpened claims wait for a decision.
	ClaimOpened ClaimStatus = "opened"
	// ClaimApproved claims are owed; their payouts show the progress of payment.
	ClaimApproved ClaimStatus = "approved"
	// ClaimDeferred claims wait for final data, evidence or an operator.
	ClaimDeferred ClaimStatus = "deferred"
	// ClaimDeclined claims are not owed.
	ClaimDeclined ClaimStatus = "declined"
	// ClaimWithdrawn claims were withdrawn by the partner.
	ClaimWithdrawn ClaimStatus = "withdrawn"
	// ClaimClosed claims are paid and reconciled in full.
	ClaimClosed ClaimStatus = "closed"
)

// ClaimTransitions are the allowed transitions of a claim.
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

// CoverPhase is the position of the present time in a policy's period.
type CoverPhase string

// Phases, in order.
const (
	CoverScheduled CoverPhase = "scheduled"
	CoverWaiting   CoverPhase = "waiting"
	CoverInForce   CoverPhase = "in_force"
	CoverEnded     CoverPhase = "ended"
)

// Origin is the cause of a claim.
type Origin string

const (
	// OriginTrigger claims result from a measured occurrence.
	OriginTrigger Origin = "trigger"
	// OriginApproval claims are decided by an operator.
	OriginApproval Origin = "approval"
)

// findTransition returns the event of a transition; false if it is not allowed.
func findTransition[S ~string](allowed []Transition[S], from, to S) (EventType, bool) {
	for _, a := range allowed {
		if a.From == from && a.To == to {
			return a.Event, true
		}
	}
	return "", false
}

// EndpointStatus is the status of a webhook endpoint.
type EndpointStatus string

const (
	// EndpointEnabled endpoints receive every event they subscribed to.
	EndpointEnabled EndpointStatus = "enabled"
	// EndpointDisabled endpoints receive nothing; their events wait in the feed.
	EndpointDisabled EndpointStatus = "disabled"
)

// EndpointTransitions are the allowed transitions of a webhook endpoint.
var EndpointTransitions = []Transition[EndpointStatus]{
	{EndpointEnabled, EndpointDisabled, EventWebhookEndpointOff},
	{EndpointDisabled, EndpointEnabled, EventWebhookEndpointOn},
}

// DeliveryStatus is the status of an event's delivery to an endpoint. Its changes write
// no events.
type DeliveryStatus string

const (
	// DeliveryPending deliveries are tried again at next_attempt_at.
	DeliveryPending DeliveryStatus = "pending"
	// DeliveryDelivered deliveries were answered with 2xx.
	DeliveryDelivered DeliveryStatus = "delivered"
	// DeliveryFailed deliveries failed ten times; they are sent again only on request.
	DeliveryFailed DeliveryStatus = "parked"
)
