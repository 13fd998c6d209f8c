package wire

import "time"

// Beneficiary is who is paid.
type Beneficiary struct {
	Name    string `json:"name"`
	Country string `json:"country"` // ISO 3166-1 alpha-2
}

// Display is as much of an account as may be shown.
type Display struct {
	Last4       string  `json:"last4"`
	Institution *string `json:"institution"`
	Country     *string `json:"country"`
}

// Verification is what the rail said of an account.
type Verification struct {
	Method    string    `json:"method"`
	CheckedAt time.Time `json:"checked_at"`
	Code      string    `json:"code"`
}

// PayoutMethod is an account a payout can go to. The number itself is never
// shown.
type PayoutMethod struct {
	Header
	References
	ClaimID      *string       `json:"claim_id"`
	PolicyID     *string       `json:"policy_id"` // set instead of claim_id when it serves every claim of the policy
	Type         string        `json:"type"`      // iban, us_bank_account, mobile_money
	Beneficiary  Beneficiary   `json:"beneficiary"`
	Currency     string        `json:"currency"`
	Display      Display       `json:"display"`
	Fingerprint  string        `json:"fingerprint"`  // equal for equal accounts, reveals nothing
	Status       string        `json:"status"`       // pending, verified, rejected, replaced
	Verification *Verification `json:"verification"` // null until checked
}

// Payout is money on its way to a beneficiary.
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
}
