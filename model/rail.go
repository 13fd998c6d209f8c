package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// columnValue returns the identity as stored in attempts: nil for a rail without address and
// account, which only its name identifies.
func (r RailIdentity) columnValue() *string {
	if r.Address == "" && r.Account == "" {
		return nil
	}
	return new(r.ID())
}

// recipient returns the identity as orders store it.
func (r RailIdentity) recipient() recipient { return recipient{r.Name, stringOrEmpty(r.columnValue())} }

// recipient is the bank that received an order. bank is empty if the order, or the
// report, has no identity: then the rail's name decides.
type recipient struct{ rail, bank string }
