package model

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
