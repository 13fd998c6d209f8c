package wire

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Event reports the change of a record. Feed, webhook and GraphQL show the same bytes.
type Event struct {
	Header
	Type       string         `json:"type"`
	Sequence   int64          `json:"sequence"`   // 1, 2, 3 … without gaps, per partner; a cause comes before its effect
	Generation int            `json:"generation"` // grows when the history is restored from a backup: later sequences identify other events than before
	Subject    Subject        `json:"subject"`
	OccurredAt time.Time      `json:"occurred_at"`
	Redaction  *Redaction     `json:"redaction,omitzero"` // for an event from which personal data was removed
	Data       jsontext.Value `json:"data"`               // object: the subject's public record at that time
	Hash       string         `json:"hash"`               // chains the event to the previous one; hexadecimal SHA-256
}

// Redaction describes an event's data before personal data was removed, so that the
// chain can be verified without it: hash covers DataHash instead of the digest of the
// redacted data.
type Redaction struct {
	RedactedAt time.Time `json:"redacted_at"`
	DataHash   string    `json:"data_hash"` // hexadecimal SHA-256 of the former data
	Signature  string    `json:"signature"` // base64, Ed25519, of the former and the present data
}

// Subject is the record an event is about.
type Subject struct {
	Type    string `json:"type"` // the record's object
	ID      string `json:"id"`
	Version int64  `json:"version"` // the record's version after the change
}
