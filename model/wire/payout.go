package wire

import "time"

// Beneficiary is the payee.
type Beneficiary struct {
	Name    string `json:"name"`
	Country string `json:"country"` // ISO 3166-1 alpha-2
}

// Display is the part of an account that may be shown.
type Display struct {
	Last4       string  `json:"last4"`
	Institution *string `json:"institution"`
	Country     *string `json:"country"`
}

// Verification is the result of the rail's check of an account.
type Verification struct {
	Method    string    `json:"method"`
	CheckedAt time.Time `json:"checked_at"`
	Code      string    `json:"code"`
}

// PayoutMethod is an account that payouts can go to. The number itself is never shown.
type PayoutMethod struct {
	Header
	References
	ClaimID      *string       `json:"claim_id"`
	PolicyID     *string       `json:"policy_id"` // set instead of claim_id if it applies to every claim of the policy
	Type         string        `json:"type"`      // iban, us_bank_account, mobile_money
	Beneficiary  Beneficiary   `json:"beneficiary"`
	Currency     string        `json:"currency"`
	Display      Display       `json:"display"`
	Fingerprint  string        `json:"fingerprint"`  // equal for equal accounts, reveals nothing
	Status       string        `json:"status"`       // pending, verified, rejected, replaced
	Verification *Verification `json:"verification"` // null until checked
}

// Payout is a payout to a beneficiary.
type Payout struct {
	Header
	ClaimID           string     `json:"claim_id"`
	PolicyID          string     `json:"policy_id"`
	Status            string     `json:"status"`
	Amount            Money      `json:"amount"`
	PayoutMethodID    *string    `json:"payout_method_id"`
	BlockedReason     *string    `json:"blocked_reason"`
	Attempts          int        `json:"attempts"`
	NextAttemptAt     *time.Time `json:"next_attempt_at"`
	Provider          *string    `json:"provider"`
	ProviderReference *string    `json:"provider_reference"`
	ReleasedAt        *time.Time `json:"released_at"`
	ReconciledAt      *time.Time `json:"reconciled_at"`
	ReplacesPayoutID  *string    `json:"replaces_payout_id"`
	// Approval is shown to operators before they approve; absent for partners.
	Approval *PayoutApproval `json:"approval,omitzero"`
}

// PayoutApproval is the number of operators that must approve a payout, and what they
// approve.
type PayoutApproval struct {
	Digest         *string            `json:"digest"`          // identifies payout, claim, amount and account; null without an account
	Required       int                `json:"required"`        // number of different operators
	ApprovalsCount int                `json:"approvals_count"` // approvals of this digest
	PayoutMethod   *PayoutDestination `json:"payout_method"`
}

// PayoutDestination is the account that a payout goes to once it is approved.
type PayoutDestination struct {
	PayoutMethodID  string      `json:"payout_method_id"`
	Type            string      `json:"type"`
	Beneficiary     Beneficiary `json:"beneficiary"`
	Display         Display     `json:"display"`
	Fingerprint     string      `json:"fingerprint"`
	Status          string      `json:"status"` // pending or verified
	RecordedAt      time.Time   `json:"recorded_at"`
	VerifiedAt      *time.Time  `json:"verified_at"`       // null until verified
	CoolingOffUntil *time.Time  `json:"cooling_off_until"` // payouts to it before need an approval; null without a cooling-off period
	ReturnedAt      *time.Time  `json:"returned_at"`       // when it last returned a payout of this claim; null if never
}
