package event

import (
	"fmt"
)

// Type names a change of a record.
type Type string

// Kind is one row of the catalogue: an event type, its subject and when it is
// recorded.
type Kind struct {
	Type        Type
	Subject     string // type of the record that the event is about
	Description string // when it is recorded: one sentence
}

// EventKinds is the catalogue, ordered by life cycle. Entries are only added.
var EventKinds = []Kind{
	{QuoteCreated, "quote", "A quote was priced."},
	{QuoteBound, "quote", "A quote became a policy."},
	{QuoteExpired, "quote", "A quote was not bound in time."},
	{PolicyActivated, "policy", "A quote was bound: cover runs from the start of its period."},
	{PolicyExhausted, "policy", "Nothing is left of the policy's limit."},
	{PolicyExpired, "policy", "The period of cover is over. Claims for events in the period can still be opened in the reporting window."},
	{PolicyCancelled, "policy", "An operator ended the cover; what happened before is still paid."},
	{PolicyArchived, "policy", "The reporting window is over and nothing is open: there will be no more claims."},
	{PolicyUpdated, "policy", "Another public member changed, usually limit_remaining."},
	{OccurrenceWatch, "occurrence", "Preliminary readings put covers of yours within reach: data.covers says how many. It is sent once for an occurrence, and again when their number has doubled."},
	{ClaimOpened, "claim", "A claim was opened, by a measured occurrence or by its partner."},
	{ClaimApproved, "claim", "A claim was approved: its amount is taken from the limit and a payout follows."},
	{ClaimDeferred, "claim", "A decision waits for final values, for evidence or for an operator."},
	{ClaimDeclined, "claim", "A claim was declined; its decision says why."},
	{ClaimWithdrawn, "claim", "The partner withdrew a claim."},
	{ClaimClosed, "claim", "A claim is paid in full and the rail has confirmed it."},
	{ClaimReopened, "claim", "A closed claim owes money again: a payout came back, or its storm grew. Or a declined claim is decided again, because a challenge was accepted."},
	{ClaimUpdated, "claim", "Another public member changed, such as the determination or the next review."},
	{ClaimAttachmentAdded, "attachment", "A document was added to a claim."},
	{ClaimMessageAdded, "message", "A message was added to a claim, by its partner or by an operator."},
	{ClaimChallenged, "claim", "The partner challenged the decision on a claim; measurement_state has the challenge."},
	{ClaimChallengeDecided, "claim", "An operator accepted or rejected a challenge."},
	{PayoutMethodRecorded, "payout_method", "An account to pay to was recorded; the rail verifies it."},
	{PayoutMethodVerified, "payout_method", "The rail verified the account: it can be paid."},
	{PayoutMethodRejected, "payout_method", "The rail refused the account: record another one."},
	{PayoutMethodReplaced, "payout_method", "A newer account replaced this one."},
	{PayoutCreated, "payout", "A payout was created for an approved claim."},
	{PayoutReleasing, "payout", "A payout is being sent to the rail."},
	{PayoutReleased, "payout", "The rail accepted the payout."},
	{PayoutBlocked, "payout", "A payout cannot be sent; blocked_reason says why."},
	{PayoutUnblocked, "payout", "Nothing blocks the payout any more: it is sent when it is due."},
	{PayoutReconciling, "payout", "The outcome at the rail is unknown; nothing is sent until the rail resolves it."},
	{PayoutReconciled, "payout", "The rail's own report confirms the payout."},
	{PayoutReturned, "payout", "The money came back."},
	{PayoutCancelled, "payout", "An operator cancelled the payout: it is never sent."},
	{PayoutUpdated, "payout", "Another public member changed, such as blocked_reason or next_attempt_at."},
	{WebhookEndpointOn, "webhook_endpoint", "Events are sent to a webhook endpoint from now on."},
	{WebhookEndpointOff, "webhook_endpoint", "A webhook endpoint was disabled: nothing is sent to it. Its note says why, unless its partner disabled it."},
}

// Kinds returns the catalogue of all event types, ordered by life cycle.
func Kinds() []Kind { return EventKinds }

// Types returns the event types of the catalogue.
func Types() []Type {
	types := make([]Type, len(EventKinds))
	for i, kind := range EventKinds {
		types[i] = kind.Type
	}
	return types
}

// CheckSubject returns an error for an event that is not in the catalogue, so that
// partners never get an undocumented event.
func (t Type) CheckSubject(subject string) error {
	for _, kind := range EventKinds {
		if kind.Type == t && kind.Subject == subject {
			return nil
		}
	}
	return fmt.Errorf("the catalogue has no event %s of a %s", t, subject)
}

// Most of these types belong to a status transition in lifecycle.go; EventKinds describes
// each type.
const (
	QuoteCreated          Type = "quote.created"
	QuoteBound            Type = "quote.bound"
	QuoteExpired          Type = "quote.expired"
	PolicyActivated       Type = "policy.activated"
	PolicyExhausted       Type = "policy.exhausted"
	PolicyExpired         Type = "policy.expired"
	PolicyCancelled       Type = "policy.cancelled"
	PolicyArchived        Type = "policy.archived"
	PolicyUpdated         Type = "policy.updated"
	OccurrenceWatch       Type = "occurrence.watch"
	ClaimOpened           Type = "claim.opened"
	ClaimApproved         Type = "claim.approved"
	ClaimDeferred         Type = "claim.deferred"
	ClaimDeclined         Type = "claim.declined"
	ClaimWithdrawn        Type = "claim.withdrawn"
	ClaimClosed           Type = "claim.closed"
	ClaimReopened         Type = "claim.reopened"
	ClaimUpdated          Type = "claim.updated"
	ClaimAttachmentAdded  Type = "claim.attachment_added"
	ClaimMessageAdded     Type = "claim.message_added"
	ClaimChallenged       Type = "claim.challenged"
	ClaimChallengeDecided Type = "claim.challenge_decided"
	PayoutMethodRecorded  Type = "payout_method.recorded"
	PayoutMethodVerified  Type = "payout_method.verified"
	PayoutMethodRejected  Type = "payout_method.rejected"
	PayoutMethodReplaced  Type = "payout_method.replaced"
	PayoutCreated         Type = "payout.created"
	PayoutReleasing       Type = "payout.releasing"
	PayoutReleased        Type = "payout.released"
	PayoutBlocked         Type = "payout.blocked"
	PayoutUnblocked       Type = "payout.unblocked"
	PayoutReconciling     Type = "payout.reconciling"
	PayoutReconciled      Type = "payout.reconciled"
	PayoutReturned        Type = "payout.returned"
	PayoutCancelled       Type = "payout.cancelled"
	PayoutUpdated         Type = "payout.updated"
	WebhookEndpointOn     Type = "webhook_endpoint.enabled"
	WebhookEndpointOff    Type = "webhook_endpoint.disabled"
	TimelineObserved      Type = "trigger.observed" // used only in timelines
)
