package wire

import "time"

// HistoryProof is what a check of a partner's events found.
type HistoryProof struct {
	Partner     string         `json:"partner"`
	Events      int64          `json:"events"`      // numbered events that were checked
	Last        int64          `json:"last"`        // sequence of the last one
	Hash        string         `json:"hash"`        // of the last one, as the chain has it
	Checkpoints int64          `json:"checkpoints"` // signed checkpoints that were checked
	SignedAt    *time.Time     `json:"signed_at"`   // of the last checkpoint
	PublicKey   string         `json:"public_key"`  // Ed25519, base64: what verifies the signatures
	Redacted    int64          `json:"redacted"`    // of the events, those without the personal data that was in them, as we signed
	Intact      bool           `json:"intact"`
	Faults      []HistoryFault `json:"faults"` // at most 100
	Lost        []HistoryLost  `json:"lost"`   // ends that restores from backups have cut off
}

// HistoryLost is the last signed end of a generation of a history that a restore from a
// backup has cut off.
type HistoryLost struct {
	Generation int       `json:"generation"`
	Sequence   int64     `json:"sequence"`
	SignedAt   time.Time `json:"signed_at"`
}

// HistoryFault is one place where a history is not what it was.
type HistoryFault struct {
	Sequence int64  `json:"sequence"`
	Kind     string `json:"kind"` // missing, changed, unnumbered, cut, checkpoint
	Detail   string `json:"detail"`
}
