package wire

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Event tells that a record changed. Feed, webhook and GraphQL show the same bytes.
type Event struct {
	Header
	Type       string         `json:"type"`
	Sequence   int64          `json:"sequence"` // 1, 2, 3 … without gaps, per partner; a cause comes before its effect
	Subject    Subject        `json:"subject"`
	OccurredAt time.Time      `json:"occurred_at"`
	Data       jsontext.Value `json:"data"` // object: the subject's public record as it was then
	Hash       string         `json:"hash"` // chains the event to the one before; hexadecimal SHA-256
}

// Subject is the record an event is about.
type Subject struct {
	Type    string `json:"type"` // the record's object
	ID      string `json:"id"`
	Version int64  `json:"version"` // the record's version after the change
}
