package model

import "time"

// Outcome is how a call to a rail ended.
type Outcome string

const (
	// OutcomeAccepted means the rail pays.
	OutcomeAccepted Outcome = "accepted"
	// OutcomeRefused means the rail definitely does not.
	OutcomeRefused Outcome = "refused"
	// OutcomeUnknown means nobody knows yet.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeMismatch means the rail pays something else than was asked.
	OutcomeMismatch Outcome = "mismatch"
	// OutcomeNotSent means the rail has nothing of this call: it failed before the order
	// was written.
	OutcomeNotSent Outcome = "not_sent"
)

// movedMoney tells whether money moved, the right one or not.
func (o Outcome) movedMoney() bool { return o == OutcomeAccepted || o == OutcomeMismatch }

// RailAnswer is what a rail said.
type RailAnswer struct {
	Outcome     Outcome
	Code        string
	Reference   string
	KeyValidFor time.Duration // until the rail may forget the key; zero when it never does or has already
}

// attemptOutcome is what an attempt shows of an answer: money that moved otherwise than it
// was ordered did move.
func (a RailAnswer) attemptOutcome() string {
	if a.Outcome.movedMoney() {
		return string(OutcomeAccepted)
	}
	return string(a.Outcome)
}
