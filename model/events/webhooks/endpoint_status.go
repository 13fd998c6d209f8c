package webhooks

import (
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// EndpointStatus is the status of a webhook endpoint.
type EndpointStatus string

const (
	// EndpointEnabled endpoints receive every event they subscribed to.
	EndpointEnabled EndpointStatus = "enabled"
	// EndpointDisabled endpoints receive nothing; their events wait in the feed.
	EndpointDisabled EndpointStatus = "disabled"
)

// EndpointTransitions are the allowed transitions of a webhook endpoint.
var EndpointTransitions = []store.Transition[EndpointStatus]{
	{From: EndpointEnabled, To: EndpointDisabled, Event: event.WebhookEndpointOff},
	{From: EndpointDisabled, To: EndpointEnabled, Event: event.WebhookEndpointOn},
}
