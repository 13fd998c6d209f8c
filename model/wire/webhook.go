package wire

import "time"

// WebhookEndpoint is where a partner wants to hear of events.
type WebhookEndpoint struct {
	Header
	References
	URL        string   `json:"url"`
	EventTypes []string `json:"event_types"` // of the catalogue, or * for all
	Status     string   `json:"status"`      // enabled, disabled
	Ordered    bool     `json:"ordered"`     // the next event of one subject waits for the earlier one
	Note       *string  `json:"note"`        // why it was disabled, when Parapet did it
	// Secret signs what is sent (Standard Webhooks, whsec_); shown once, at creation
	// and at rotation.
	Secret *string `json:"secret,omitzero"`
}

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	Header
	EventID       string     `json:"event_id"`
	EndpointID    string     `json:"endpoint_id"`
	Status        string     `json:"status"` // pending, delivered, parked
	Attempts      []Attempt  `json:"attempts"`
	NextAttemptAt *time.Time `json:"next_attempt_at"` // null when none is due
}

// Attempt is one call of an endpoint.
type Attempt struct {
	At         time.Time `json:"at"`
	StatusCode *int      `json:"status_code"` // null when there was no answer
	Error      *string   `json:"error"`       // timeout, refused, address, tls, dns, connection, redirect; null when it was answered
	DurationMS int64     `json:"duration_ms"`
	Answer     string    `json:"answer"` // the first 1 KiB of what the endpoint answered
}

// Retried is how many deliveries are sent once more.
type Retried struct {
	Count int `json:"count"`
}
