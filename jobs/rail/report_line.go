package rail

import (
	"context"
	"errors"
	"time"

	"parapet/model/money"
)

// Line is one line of a rail's report: the status of a key at the rail. Every rail and
// bank file format is converted to it.
type Line struct {
	Key       string      // ours, see Instruction; empty if the rail did not carry it
	Reference string      // the rail's own id
	Amount    money.Money // amount that moved or came back
	Payee     string      // masked; empty if the report does not contain it
	Status    LineStatus
	Code      string    // the rail's reason, when Rejected or Returned
	Date      time.Time // booking date, UTC
}

// LineStatus is the status of a payment in a report.
type LineStatus string

const (
	// Settled is money that arrived or was finally booked out.
	Settled LineStatus = "settled"
	// Rejected is definite: the payment was not made.
	Rejected LineStatus = "rejected"
	// Returned is money that went out and came back.
	Returned LineStatus = "returned"
	// InFlight is a payment that the rail knows and has not settled.
	InFlight LineStatus = "underway"
)

// ErrNoReport means that a rail has no report of a day, or not yet.
var ErrNoReport = errors.New("the rail has no report of that day")

// ErrInvalidReport means that a report is not trustworthy: truncated, contradicting its
// own sums or in another format. None of it may be used, including lines before the
// error.
var ErrInvalidReport = errors.New("the report is broken")

// Reporter is the part of a rail that reports. Report passes each line of a UTC day to
// each, in the rail's order, and returns its error at once. It returns nil only if it
// read the whole report; callers must discard the lines after an error. ErrNoReport and
// ErrInvalidReport are distinct.
type Reporter interface {
	Report(ctx context.Context, day time.Time, each func(Line) error) error
}
