package wire

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Event tells that a record changed. Feed, webhook and GraphQL show the same bytes.
type Event struct {
	Header
	Type       string         `json:"type"`
	Sequence   int64          `json:"sequence"`   // 1, 2, 3 … without gaps, per partner; a cause comes before its effect
	Generation int            `json:"generation"` // grows when the history is restored from a backup: later sequences name other events than before
	Subject    Subject        `json:"subject"`
	OccurredAt time.Time      `json:"occurred_at"`
	Redaction  *Redaction     `json:"redaction,omitzero"` // of an event that personal data was taken out of
	Data       jsontext.Value `json:"data"`               // object: the subject's public record as it was then
	Hash       string         `json:"hash"`               // chains the event to the one before; hexadecimal SHA-256
}

// Redaction says what an event's data was before personal data was taken out of it, so
// that the chain can be proved without: hash covers DataHash in the place of the
// digest of what is left.
type Redaction struct {
	RedactedAt time.Time `json:"redacted_at"`
	DataHash   string    `json:"data_hash"` // hexadecimal SHA-256 of data as it was
	Signature  string    `json:"signature"` // base64, Ed25519, of what data was and is
}

// Subject is the record an event is about.
type Subject struct {
	Type    string `json:"type"` // the record's object
	ID      string `json:"id"`
	Version int64  `json:"version"` // the record's version after the change
}
