package wire

import "time"

// WebhookEndpoint is an endpoint for a partner's events.
type WebhookEndpoint struct {
	Header
	References
	URL        string   `json:"url"`
	EventTypes []string `json:"event_types"` // types of the catalogue, or * for all
	Status     string   `json:"status"`      // enabled, disabled
	Ordered    bool     `json:"ordered"`     // the next event of one subject waits for the earlier one
	Note       *string  `json:"note"`        // why Parapet disabled it
	// Secret signs the deliveries (Standard Webhooks, whsec_); shown once, at creation
	// and at rotation.
	Secret *string `json:"secret,omitzero"`
}

// Delivery is the delivery of one event to one endpoint.
type Delivery struct {
	Header
	EventID       string     `json:"event_id"`
	EndpointID    string     `json:"endpoint_id"`
	Status        string     `json:"status"` // pending, delivered, failed
	Attempts      []Attempt  `json:"attempts"`
	NextAttemptAt *time.Time `json:"next_attempt_at"` // null when none is due
}

// Attempt is one call of an endpoint.
type Attempt struct {
	At         time.Time `json:"at"`
	StatusCode *int      `json:"status_code"` // null without an answer
	Error      *string   `json:"error"`       // timeout, refused, address, tls, dns, connection, redirect; null if answered
	DurationMS int64     `json:"duration_ms"`
	Answer     string    `json:"answer"` // first 1 KiB of the endpoint's answer
}

// Retried is the number of deliveries that are sent again.
type Retried struct {
	Count int `json:"count"`
}
