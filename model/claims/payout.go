package claims

import (
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/kernel/store"
	"parapet/model/money"
	"parapet/model/wire"
)

// PayoutRow is a payout. next_attempt_at decides when the payout is due; the job queue
// only wakes a worker.
type PayoutRow struct {
	bun.BaseModel `bun:"table:payouts,alias:po"`
	store.RowHeader

	ClaimID             uuid.UUID `bun:"type:uuid"`
	ClaimSequence       int64     `bun:",nullzero"` // 1, 2, 3 … in its claim; Postgres assigns it unless the insert does
	PolicyID            uuid.UUID `bun:"type:uuid"`
	Status              PayoutStatus
	Installment         int // number of this instalment of the claim's debt, from 1
	Amount              int64
	Currency            string
	PayoutMethodID      *uuid.UUID `bun:"type:uuid"`
	BlockedReason       *BlockedReason
	PreviousBlockReason *BlockedReason // the blocked reason before an operator's hold
	Attempts            int            // number of calls to a rail
	DebtDigest          string         // digest of the debt; part of the rail's key, see IdempotencyKey
	IdempotencySeq      int            // sequence number in the rail's idempotency key
	NextAttemptAt       *time.Time
	Provider            *string
	ProviderReference   *string
	ReleasedAt          *time.Time
	ReconciledAt        *time.Time
	ReplacesPayoutID    *uuid.UUID `bun:"type:uuid"`
	ApprovalsNeeded     int        // required approvals, each by a different operator
	SettledExternally   bool       // cancelled, but the beneficiary has the money
}

// ToRecord returns the v1 record of a payout.
func (r *PayoutRow) ToRecord() *wire.Payout {
	return &wire.Payout{
		Header: r.ToHeader(store.ResourcePayout), ClaimID: store.ResourceClaim.FormatID(r.ClaimID), PolicyID: store.ResourcePolicy.FormatID(r.PolicyID),
		Status: string(r.Status), Amount: r.ToMoney(), PayoutMethodID: store.ResourcePayoutMethod.FormatOptionalID(r.PayoutMethodID),
		BlockedReason: (*string)(r.BlockedReason), Attempts: r.Attempts, NextAttemptAt: r.NextAttemptAt,
		Provider: r.Provider, ProviderReference: r.ProviderReference,
		ReleasedAt: r.ReleasedAt, ReconciledAt: r.ReconciledAt, ReplacesPayoutID: store.ResourcePayout.FormatOptionalID(r.ReplacesPayoutID),
	}
}

// ToMoney returns the amount of a payout.
func (r *PayoutRow) ToMoney() money.Money { return money.New(r.Amount, r.Currency) }

// IsInFlight reports whether an order of the payout may be on its way to the rail.
func (r *PayoutRow) IsInFlight() bool {
	return r.Status == PayoutReleasing || r.Status == PayoutReconciling
}

// IsPaidBefore reports whether the payout paid, or may have paid, before another one. Equal
// payouts have no order.
func (r *PayoutRow) IsPaidBefore(other *PayoutRow) bool {
	if a, b := r.paymentRank(), other.paymentRank(); a != b || r.ReleasedAt == nil || other.ReleasedAt == nil {
		return a < b
	}
	return r.ReleasedAt.Before(*other.ReleasedAt)
}

// paymentRank orders payouts: those that paid, those that a rail may have paid, and those that
// can be held.
func (r *PayoutRow) paymentRank() int {
	switch {
	case r.Status == PayoutPending, r.Status == PayoutBlocked && *r.BlockedReason != BlockedRailMismatch:
		return 2
	case r.Status == PayoutBlocked, r.IsInFlight():
		return 1
	default:
		return 0
	}
}
