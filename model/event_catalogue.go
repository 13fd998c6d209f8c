package model

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// EventKind is one row of the catalogue: an event type, its subject and when it is
// recorded.
type EventKind struct {
	Type        EventType
	Subject     string // type of the record that the event is about
	Description string // when it is recorded: one sentence
}

// eventKinds is the catalogue, ordered by life cycle. Entries are only added.
var eventKinds = []EventKind{
	{EventQuoteCreated, resourceQuote.name, "A quote was priced."},
	{EventQuoteBound, resourceQuote.name, "A quote became a policy."},
	{EventQuoteExpired, resourceQuote.name, "A quote was not bound in time."},
	{EventPolicyActivated, resourcePolicy.name, "A quote was bound: cover runs from the start of its period."},
	{EventPolicyExhausted, resourcePolicy.name, "Nothing is left of the policy's limit."},
	{EventPolicyExpired, resourcePolicy.name, "The period of cover is over. Claims for events in the period can still be opened in the reporting window."},
	{EventPolicyCancelled, resourcePolicy.name, "An operator ended the cover; what happened before is still paid."},
	{EventPolicyArchived, resourcePolicy.name, "The reporting window is over and nothing is open: there will be no more claims."},
	{EventPolicyUpdated, resourcePolicy.name, "Another public member changed, usually limit_remaining."},
	{EventClaimOpened, resourceClaim.name, "A claim was opened, by a measured occurrence or by its partner."},
	{EventClaimApproved, resourceClaim.name, "A claim was approved: its amount is taken from the limit and a payout follows."},
	{EventClaimDeferred, resourceClaim.name, "A decision waits for final values, for evidence or for an operator."},
	{EventClaimDeclined, resourceClaim.name, "A claim was declined; its decision says why."},
	{EventClaimWithdrawn, resourceClaim.name, "The partner withdrew a claim."},
	{EventClaimClosed, resourceClaim.name, "A claim is paid in full and the rail has confirmed it."},
	{EventClaimReopened, resourceClaim.name, "A closed claim owes money again: a payout came back, or its storm grew."},
	{EventClaimUpdated, resourceClaim.name, "Another public member changed, such as the determination or the next review."},
	{EventClaimAttachmentAdded, resourceAttachment.name, "A document was added to a claim."},
	{EventClaimMessageAdded, resourceMessage.name, "A message was added to a claim, by its partner or by an operator."},
	{EventPayoutMethodRecorded, resourcePayoutMethod.name, "An account to pay to was recorded; the rail verifies it."},
	{EventPayoutMethodVerified, resourcePayoutMethod.name, "The rail verified the account: it can be paid."},
	{EventPayoutMethodRejected, resourcePayoutMethod.name, "The rail refused the account: record another one."},
	{EventPayoutMethodReplaced, resourcePayoutMethod.name, "A newer account replaced this one."},
	{EventPayoutCreated, resourcePayout.name, "A payout was created for an approved claim."},
	{EventPayoutReleasing, resourcePayout.name, "A payout is being sent to the rail."},
	{EventPayoutReleased, resourcePayout.name, "The rail accepted the payout."},
	{EventPayoutBlocked, resourcePayout.name, "A payout cannot be sent; blocked_reason says why."},
	{EventPayoutUnblocked, resourcePayout.name, "Nothing blocks the payout any more: it is sent when it is due."},
	{EventPayoutReconciling, resourcePayout.name, "The outcome at the rail is unknown; nothing is sent until the rail resolves it."},
	{EventPayoutReconciled, resourcePayout.name, "The rail's own report confirms the payout."},
	{EventPayoutReturned, resourcePayout.name, "The money came back."},
	{EventPayoutCancelled, resourcePayout.name, "An operator cancelled the payout: it is never sent."},
	{EventPayoutUpdated, resourcePayout.name, "Another public member changed, such as blocked_reason or next_attempt_at."},
	{EventWebhookEndpointOn, resourceEndpoint.name, "Events are sent to a webhook endpoint from now on."},
	{EventWebhookEndpointOff, resourceEndpoint.name, "A webhook endpoint was disabled: nothing is sent to it. Its note says why, unless its partner disabled it."},
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
func (t EventType) checkSubject(subject ResourceType) error {
	for _, kind := range eventKinds {
		if kind.Type == t && kind.Subject == subject.name {
			return nil
		}
	}
	return fmt.Errorf("the catalogue has no event %s of a %s", t, subject.name)
}

// EventDescription is a row of the catalogue with what a reader of events needs.
type EventDescription struct {
	EventKind

	Schema  jsontext.Value // JSON Schema 2020-12 of the whole event, self-contained
	Example jsontext.Value // a real event with ids and times replaced by constant ones
}

// Name returns the type as REST and webhooks write it.
func (d EventDescription) Name() string { return string(d.Type) }

// eventSchemasJSON has the JSON Schema and an example of every event type, from real
// events; make generate writes it. In this file the schemas share their definitions.
//
//go:embed events.json
var eventSchemasJSON []byte

var eventDescriptions = sync.OnceValues(func() ([]EventDescription, error) {
	var book struct {
		Defs  map[string]jsontext.Value `json:"$defs"`
		Types map[EventType]struct {
			Schema  map[string]jsontext.Value `json:"schema"`
			Example jsontext.Value            `json:"example"`
		} `json:"types"`
	}
	if err := json.Unmarshal(eventSchemasJSON, &book); err != nil {
		return nil, fmt.Errorf("events.json: %w", err)
	}
	all := make([]EventDescription, len(eventKinds))
	for i, kind := range eventKinds {
		own := book.Types[kind.Type]
		all[i] = EventDescription{EventKind: kind, Example: own.Example}
		if own.Schema == nil {
			continue // a new type before make generate
		}
		defs := make(map[string]jsontext.Value)
		collectDefinitions(defs, book.Defs, own.Schema["$ref"])
		text, err := json.Marshal(defs, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		own.Schema["$defs"] = text
		if all[i].Schema, err = json.Marshal(own.Schema, json.Deterministic(true)); err != nil {
			return nil, err
		}
	}
	return all, nil
})

var definitionReference = regexp.MustCompile(`"#/\$defs/(\w+)"`)

// collectDefinitions collects the definitions that a schema references, directly or
// through other definitions.
func collectDefinitions(into, from map[string]jsontext.Value, schema jsontext.Value) {
	for _, named := range definitionReference.FindAllSubmatch(schema, -1) {
		if name := string(named[1]); into[name] == nil {
			into[name] = from[name]
			collectDefinitions(into, from, from[name])
		}
	}
}

// EventDescriptions returns the catalogue with the schema and an example of every type.
func EventDescriptions() ([]EventDescription, error) { return eventDescriptions() }

// DescribeEvents returns EventDescriptions to an actor that may read events.
func (s *Service) DescribeEvents(ctx context.Context, actor Actor) ([]EventDescription, error) {
	if err := s.authorize(ctx, actor, ScopeEventsRead); err != nil {
		return nil, err
	}
	return EventDescriptions()
}
