package model

import "time"

// Outcome is the result of a call to a rail.
type Outcome string

const (
	// OutcomeAccepted means that the rail pays.
	OutcomeAccepted Outcome = "accepted"
	// OutcomeRefused means that the rail definitely does not pay.
	OutcomeRefused Outcome = "refused"
	// OutcomeUnknown means that the outcome is not known yet.
	OutcomeUnknown Outcome = "unknown"
	// OutcomeMismatch means that the rail pays something other than was ordered.
	OutcomeMismatch Outcome = "mismatch"
	// OutcomeNotSent means that the rail received nothing: the call failed before the
	// order was written.
	OutcomeNotSent Outcome = "not_sent"
)

// movedMoney reports whether money moved, as ordered or not.
func (o Outcome) movedMoney() bool { return o == OutcomeAccepted || o == OutcomeMismatch }

// RailAnswer is a rail's answer to an order.
type RailAnswer struct {
	Outcome     Outcome
	Code        string
	Reference   string
	KeyValidFor time.Duration // time until the rail may forget the key; zero when it never does or already has
}

// attemptOutcome returns the outcome stored for an attempt: a mismatch is stored as
// accepted, because money moved.
func (a RailAnswer) attemptOutcome() string {
	if a.Outcome.movedMoney() {
		return string(OutcomeAccepted)
	}
	return string(a.Outcome)
}
