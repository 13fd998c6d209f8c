package rail

import (
	"context"
	"errors"
	"time"

	"parapet/model/money"
)

// Line is one line of a rail's report: what the rail says became of a key. Every
// rail and every format of a bank's files comes down to it.
type Line struct {
	Key       string      // ours, see Instruction; empty where the rail did not carry it
	Reference string      // the rail's own id
	Amount    money.Money // what moved, or came back
	Payee     string      // masked, empty where the report does not tell
	Status    LineStatus
	Code      string    // why, when Rejected or Returned: the rail's own word
	Date      time.Time // the day of the booking, UTC
}

// LineStatus is what a report says of a payment.
type LineStatus string

const (
	// Settled is money that arrived, or was booked out for good.
	Settled LineStatus = "settled"
	// Rejected is definite: the payment was not made.
	Rejected LineStatus = "rejected"
	// Returned is money that went out and came back.
	Returned LineStatus = "returned"
	// InFlight is a payment that the rail knows and has not settled.
	InFlight LineStatus = "underway"
)

// ErrNoReport says that a rail has no report of a day, or not yet.
var ErrNoReport = errors.New("the rail has no report of that day")

// ErrInvalidReport says that a report cannot be believed: cut short, contradicting its
// own sums, or not in its format. Nothing of it may be used, lines that came
// before the error included.
var ErrInvalidReport = errors.New("the report is broken")

// Reporter is the part of a rail that reports. Report hands each line of a UTC
// day to each, in the rail's order, and returns its error at once. It ends with
// an error unless the whole report was read: whoever keeps lines keeps them only
// when Report returned nil. ErrNoReport and ErrInvalidReport are told apart.
type Reporter interface {
	Report(ctx context.Context, day time.Time, each func(Line) error) error
}
