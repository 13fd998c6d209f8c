package wire

import (
	"time"

	"parapet/model/hazard"
)

// SandboxRun is work that the sandbox does in the background. The member named like kind
// has its details; the others are null.
type SandboxRun struct {
	Header
	Kind     string           `json:"kind"`     // clock, replay, reset, signature
	Status   string           `json:"status"`   // running, done, failed
	Progress int              `json:"progress"` // percent
	Error    *string          `json:"error"`    // why it failed
	Clock    *SandboxClockRun `json:"clock"`
	Replay   *SandboxReplay   `json:"replay"`
	Reset    *SandboxReset    `json:"reset"`

	Signature *SandboxSignature `json:"signature"`
}

// SandboxClockRun moves the business clock.
type SandboxClockRun struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	ReachedAt time.Time `json:"reached_at"` // business time of the last step
	Steps     int       `json:"steps"`
}

// SandboxReplay is a past event that happens again.
type SandboxReplay struct {
	Source        string         `json:"source"`
	Event         string         `json:"event"`           // the past event
	SourceEventID string         `json:"source_event_id"` // of the replayed one; of days at a station, the first
	OccurredAt    time.Time      `json:"occurred_at"`     // of the last replayed observation
	ReplayedFrom  *time.Time     `json:"replayed_from"`   // when that observation was made; null before it is recorded
	Location      *hazard.Point  `json:"location"`        // where the event was moved to; null when it stayed
	Station       *string        `json:"station"`
	Observations  int            `json:"observations"`
	OccurrenceIDs []string       `json:"occurrence_ids"`
	Candidates    int64          `json:"candidates"`    // policies that it may affect
	ClaimsOpened  int64          `json:"claims_opened"` // of any status
	Lines         []ProgressLine `json:"lines"`         // by currency
}

// SandboxReset counts the records that a reset has ended.
type SandboxReset struct {
	ClaimsWithdrawn       int `json:"claims_withdrawn"`
	PayoutsCancelled      int `json:"payouts_cancelled"`
	PoliciesCancelled     int `json:"policies_cancelled"`
	QuotesExpired         int `json:"quotes_expired"`
	ObservationsRetracted int `json:"observations_retracted"`
}

// SandboxClock is the business clock of a rehearsal server.
type SandboxClock struct {
	Now      time.Time `json:"now"`       // business time
	RealTime time.Time `json:"real_time"` // tokens, rate limits and webhook timestamps follow it
	Movable  bool      `json:"movable"`   // the caller may move the clock
	RunID    *string   `json:"run_id"`    // the caller's run that moves the clock now
	Moving   bool      `json:"moving"`    // a run moves the clock now
}

// SandboxSignature is an event that was sent with a wrong signature.
type SandboxSignature struct {
	EndpointID string  `json:"endpoint_id"`
	StatusCode *int    `json:"status_code"` // of the receiver's answer; null before it and without one
	Refused    bool    `json:"refused"`     // it answered 400 to 499, as it should
	Error      *string `json:"error"`       // why there was no answer
}

// SandboxChecklist is what a partner's client has shown.
type SandboxChecklist struct {
	Items []SandboxCheck `json:"items"`
	Shown int            `json:"shown"` // how many of them
}

// SandboxCheck is one item with its first evidence; the last three are null before that.
type SandboxCheck struct {
	Item        string     `json:"item"`
	Description string     `json:"description"`
	ShownAt     *time.Time `json:"shown_at"` // real time
	RequestID   *string    `json:"request_id"`
	Evidence    *string    `json:"evidence"`
}
