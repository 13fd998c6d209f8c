package payouts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"parapet/model/kernel/optional"
)

// RailIdentity identifies the bank behind a rail. Payouts in doubt stay with the
// identity that may have them: the same name with another address or paying account is
// another bank, until two operators declare both the same.
type RailIdentity struct {
	Name    string // name of the rail, as payouts show it
	Address string // destination of orders: a base address, or the place of written files
	Account string // fingerprint of the paying account; empty if the address implies it
}

// ID returns the text that identifies the rail in attempts.
func (r RailIdentity) ID() string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", r.Name, r.Address, r.Account))
	return "rid_" + hex.EncodeToString(digest[:8])
}

// ColumnValue returns the identity as stored in attempts: nil for a rail without address and
// account, which only its name identifies.
func (r RailIdentity) ColumnValue() *string {
	if r.Address == "" && r.Account == "" {
		return nil
	}
	return new(r.ID())
}

// Recipient returns the identity as orders store it.
func (r RailIdentity) Recipient() Recipient {
	return Recipient{r.Name, optional.OrZero(r.ColumnValue())}
}

// Recipient is the bank that received an order. bank is empty if the order, or the
// report, has no identity: then the rail's name decides.
type Recipient struct{ Rail, Bank string }

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

// MovedMoney reports whether money moved, as ordered or not.
func (o Outcome) MovedMoney() bool { return o == OutcomeAccepted || o == OutcomeMismatch }

// RailAnswer is a rail's answer to an order.
type RailAnswer struct {
	Outcome     Outcome
	Code        string
	Reference   string
	KeyValidFor time.Duration // time until the rail may forget the key; zero when it never does or already has
}

// AttemptOutcome returns the outcome stored for an attempt: a mismatch is stored as
// accepted, because money moved.
func (a RailAnswer) AttemptOutcome() string {
	if a.Outcome.MovedMoney() {
		return string(OutcomeAccepted)
	}
	return string(a.Outcome)
}

// LineResult is the match result of a report line.
type LineResult = string

// These are the match results. From unknown on they are reconciliation exceptions.
const (
	ResultReconciled      LineResult = "reconciled"
	ResultReturned        LineResult = "returned"
	ResultRefused         LineResult = "rejected"
	ResultUnderway        LineResult = "underway"
	ResultUnknown         LineResult = "unknown"     // no payout has this key
	ResultAmount          LineResult = "amount"      // another amount or currency
	ResultBeneficiary     LineResult = "beneficiary" // another account
	ResultUnexpectedState LineResult = "state"       // money moved for a payout that was not in flight
	ResultDuplicate       LineResult = "duplicate"   // already reported
	ResultReversed        LineResult = "reversed"    // returned money was sent again
	ResultUnmatched       LineResult = "unmatched"   // the line could not be matched; see reconciliation.Exception.Detail
)
