package claims

import (
	"parapet/model/kernel/event"
	"parapet/model/kernel/store"
)

// Origin is the cause of a claim.
type Origin string

const (
	// OriginTrigger claims result from a measured occurrence.
	OriginTrigger Origin = "trigger"
	// OriginApproval claims are decided by an operator.
	OriginApproval Origin = "approval"
)

// ClaimStatus is the status of a claim.
type ClaimStatus string

const (
	// ClaimOpened claims wait for a decision.
	ClaimOpened ClaimStatus = "opened"
	// ClaimApproved claims are owed; their payouts show the progress of payment.
	ClaimApproved ClaimStatus = "approved"
	// ClaimDeferred claims wait for final data, evidence or an operator.
	ClaimDeferred ClaimStatus = "deferred"
	// ClaimDeclined claims are not owed.
	ClaimDeclined ClaimStatus = "declined"
	// ClaimWithdrawn claims were withdrawn by the partner.
	ClaimWithdrawn ClaimStatus = "withdrawn"
	// ClaimClosed claims are paid and reconciled in full.
	ClaimClosed ClaimStatus = "closed"
)

// ClaimTransitions are the allowed transitions of a claim.
var ClaimTransitions = []store.Transition[ClaimStatus]{
	{From: ClaimOpened, To: ClaimApproved, Event: event.ClaimApproved},
	{From: ClaimOpened, To: ClaimDeferred, Event: event.ClaimDeferred},
	{From: ClaimOpened, To: ClaimDeclined, Event: event.ClaimDeclined},
	{From: ClaimOpened, To: ClaimWithdrawn, Event: event.ClaimWithdrawn},
	{From: ClaimDeferred, To: ClaimApproved, Event: event.ClaimApproved},
	{From: ClaimDeferred, To: ClaimDeclined, Event: event.ClaimDeclined},
	{From: ClaimDeferred, To: ClaimWithdrawn, Event: event.ClaimWithdrawn},
	{From: ClaimApproved, To: ClaimClosed, Event: event.ClaimClosed},
	{From: ClaimClosed, To: ClaimApproved, Event: event.ClaimReopened},
	{From: ClaimDeclined, To: ClaimDeferred, Event: event.ClaimReopened},
}
