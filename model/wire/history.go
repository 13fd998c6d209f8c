package wire

import "time"

// HistoryProof is the result of verifying a partner's events.
type HistoryProof struct {
	Partner     string         `json:"partner"`
	Events      int64          `json:"events"`      // number of verified events
	Last        int64          `json:"last"`        // sequence of the last one
	Hash        string         `json:"hash"`        // hash of the last one in the chain
	Checkpoints int64          `json:"checkpoints"` // number of verified signed checkpoints
	SignedAt    *time.Time     `json:"signed_at"`   // of the last checkpoint
	PublicKey   string         `json:"public_key"`  // Ed25519, base64: verifies the signatures
	Redacted    int64          `json:"redacted"`    // number of events redacted with a valid signature of ours
	Intact      bool           `json:"intact"`
	Faults      []HistoryFault `json:"faults"` // at most 100
	Lost        []HistoryLost  `json:"lost"`   // ends that restores from backups cut off
}

// HistoryLost is the last signed end of a generation that a restore from a backup cut
// off.
type HistoryLost struct {
	Generation int       `json:"generation"`
	Sequence   int64     `json:"sequence"`
	SignedAt   time.Time `json:"signed_at"`
}

// HistoryFault is one position where a history was altered.
type HistoryFault struct {
	Sequence int64  `json:"sequence"`
	Kind     string `json:"kind"` // missing, changed, unnumbered, cut, checkpoint
	Detail   string `json:"detail"`
}
