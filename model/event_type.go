package model

import (
	"fmt"
)

// EventType names a change of a record.
type EventType string

// EventKind is one row of the catalogue: an event type, its subject and when it is
// recorded.
type EventKind struct {
	Type        EventType
	Subject     string // type of the record that the event is about
	Description string // when it is recorded: one sentence
}

// eventKinds is the catalogue, ordered by life cycle. Entries are only added.
var eventKinds = []EventKind{
	{EventQuoteCreated, "quote", "A quote was priced."},
	{EventQuoteBound, "quote", "A quote became a policy."},
	{EventQuoteExpired, "quote", "A quote was not bound in time."},
	{EventPolicyActivated, "policy", "A quote was bound: cover runs from the start of its period."},
	{EventPolicyExhausted, "policy", "Nothing is left of the policy's limit."},
	{EventPolicyExpired, "policy", "The period of cover is over. Claims for events in the period can still be opened in the reporting window."},
	{EventPolicyCancelled, "policy", "An operator ended the cover; what happened before is still paid."},
	{EventPolicyArchived, "policy", "The reporting window is over and nothing is open: there will be no more claims."},
	{EventPolicyUpdated, "policy", "Another public member changed, usually limit_remaining."},
	{EventClaimOpened, "claim", "A claim was opened, by a measured occurrence or by its partner."},
	{EventClaimApproved, "claim", "A claim was approved: its amount is taken from the limit and a payout follows."},
	{EventClaimDeferred, "claim", "A decision waits for final values, for evidence or for an operator."},
	{EventClaimDeclined, "claim", "A claim was declined; its decision says why."},
	{EventClaimWithdrawn, "claim", "The partner withdrew a claim."},
	{EventClaimClosed, "claim", "A claim is paid in full and the rail has confirmed it."},
	{EventClaimReopened, "claim", "A closed claim owes money again: a payout came back, or its storm grew."},
	{EventClaimUpdated, "claim", "Another public member changed, such as the determination or the next review."},
	{EventClaimAttachmentAdded, "attachment", "A document was added to a claim."},
	{EventClaimMessageAdded, "message", "A message was added to a claim, by its partner or by an operator."},
	{EventPayoutMethodRecorded, "payout_method", "An account to pay to was recorded; the rail verifies it."},
	{EventPayoutMethodVerified, "payout_method", "The rail verified the account: it can be paid."},
	{EventPayoutMethodRejected, "payout_method", "The rail refused the account: record another one."},
	{EventPayoutMethodReplaced, "payout_method", "A newer account replaced this one."},
	{EventPayoutCreated, "payout", "A payout was created for an approved claim."},
	{EventPayoutReleasing, "payout", "A payout is being sent to the rail."},
	{EventPayoutReleased, "payout", "The rail accepted the payout."},
	{EventPayoutBlocked, "payout", "A payout cannot be sent; blocked_reason says why."},
	{EventPayoutUnblocked, "payout", "Nothing blocks the payout any more: it is sent when it is due."},
	{EventPayoutReconciling, "payout", "The outcome at the rail is unknown; nothing is sent until the rail resolves it."},
	{EventPayoutReconciled, "payout", "The rail's own report confirms the payout."},
	{EventPayoutReturned, "payout", "The money came back."},
	{EventPayoutCancelled, "payout", "An operator cancelled the payout: it is never sent."},
	{EventPayoutUpdated, "payout", "Another public member changed, such as blocked_reason or next_attempt_at."},
	{EventWebhookEndpointOn, "webhook_endpoint", "Events are sent to a webhook endpoint from now on."},
	{EventWebhookEndpointOff, "webhook_endpoint", "A webhook endpoint was disabled: nothing is sent to it. Its note says why, unless its partner disabled it."},
}

// EventKinds returns the catalogue of all event types, ordered by life cycle.
func EventKinds() []EventKind { return eventKinds }

// EventTypes returns the event types of the catalogue.
func EventTypes() []EventType {
	types := make([]EventType, len(eventKinds))
	for i, kind := range eventKinds {
		types[i] = kind.Type
	}
	return types
}

// checkSubject returns an error for an event that is not in the catalogue, so that
// partners never get an undocumented event.
func (t EventType) checkSubject(subject string) error {
	for _, kind := range eventKinds {
		if kind.Type == t && kind.Subject == subject {
			return nil
		}
	}
	return fmt.Errorf("the catalogue has no event %s of a %s", t, subject)
}

// Most of these types belong to a status transition in lifecycle.go; eventKinds describes
// each type.
const (
	EventQuoteCreated         EventType = "quote.created"
	EventQuoteBound           EventType = "quote.bound"
	EventQuoteExpired         EventType = "quote.expired"
	EventPolicyActivated      EventType = "policy.activated"
	EventPolicyExhausted      EventType = "policy.exhausted"
	EventPolicyExpired        EventType = "policy.expired"
	EventPolicyCancelled      EventType = "policy.cancelled"
	EventPolicyArchived       EventType = "policy.archived"
	EventPolicyUpdated        EventType = "policy.updated"
	EventClaimOpened          EventType = "claim.opened"
	EventClaimApproved        EventType = "claim.approved"
	EventClaimDeferred        EventType = "claim.deferred"
	EventClaimDeclined        EventType = "claim.declined"
	EventClaimWithdrawn       EventType = "claim.withdrawn"
	EventClaimClosed          EventType = "claim.closed"
	EventClaimReopened        EventType = "claim.reopened"
	EventClaimUpdated         EventType = "claim.updated"
	EventClaimAttachmentAdded EventType = "claim.attachment_added"
	EventClaimMessageAdded    EventType = "claim.message_added"
	EventPayoutMethodRecorded EventType = "payout_method.recorded"
	EventPayoutMethodVerified EventType = "payout_method.verified"
	EventPayoutMethodRejected EventType = "payout_method.rejected"
	EventPayoutMethodReplaced EventType = "payout_method.replaced"
	EventPayoutCreated        EventType = "payout.created"
	EventPayoutReleasing      EventType = "payout.releasing"
	EventPayoutReleased       EventType = "payout.released"
	EventPayoutBlocked        EventType = "payout.blocked"
	EventPayoutUnblocked      EventType = "payout.unblocked"
	EventPayoutReconciling    EventType = "payout.reconciling"
	EventPayoutReconciled     EventType = "payout.reconciled"
	EventPayoutReturned       EventType = "payout.returned"
	EventPayoutCancelled      EventType = "payout.cancelled"
	EventPayoutUpdated        EventType = "payout.updated"
	EventWebhookEndpointOn    EventType = "webhook_endpoint.enabled"
	EventWebhookEndpointOff   EventType = "webhook_endpoint.disabled"
	timelineObserved          EventType = "trigger.observed" // used only in timelines
)
