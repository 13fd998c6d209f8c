package model

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
var ClaimTransitions = []Transition[ClaimStatus]{
	{ClaimOpened, ClaimApproved, EventClaimApproved},
	{ClaimOpened, ClaimDeferred, EventClaimDeferred},
	{ClaimOpened, ClaimDeclined, EventClaimDeclined},
	{ClaimOpened, ClaimWithdrawn, EventClaimWithdrawn},
	{ClaimDeferred, ClaimApproved, EventClaimApproved},
	{ClaimDeferred, ClaimDeclined, EventClaimDeclined},
	{ClaimDeferred, ClaimWithdrawn, EventClaimWithdrawn},
	{ClaimApproved, ClaimClosed, EventClaimClosed},
	{ClaimClosed, ClaimApproved, EventClaimReopened},
}
