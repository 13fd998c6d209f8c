package model

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/money"
	"parapet/model/wire"
)

// payoutRow is money on its way to a beneficiary. next_attempt_at is the truth
// about when it is worked next; the queue is only the alarm.
type payoutRow struct {
	bun.BaseModel `bun:"table:payouts,alias:po"`
	RowHeader

	ClaimID           uuid.UUID `bun:"type:uuid"`
	ClaimSequence     int64     // 1, 2, 3 … in its claim; Postgres assigns it at the insert
	PolicyID          uuid.UUID `bun:"type:uuid"`
	Status            PayoutStatus
	Part              int // of what the claim owes, from 1
	Amount            int64
	Currency          string
	PayoutMethodID    *uuid.UUID `bun:"type:uuid"`
	BlockedReason     *BlockedReason
	HeldOver          *BlockedReason // what blocked it when an operator held it
	Attempts          int            // calls to a rail
	DebtDigest        *string        // names what is owed; see key
	KeyNumber         int            // n of the rail's key
	NextAttemptAt     *time.Time
	Provider          *string
	ProviderReference *string
	ReleasedAt        *time.Time
	ReconciledAt      *time.Time
	ReplacesPayoutID  *uuid.UUID `bun:"type:uuid"`
	ApprovalsNeeded   int        // of different operators
	Settled           bool       // cancelled, but the beneficiary has the money
}

func (r *payoutRow) toRecord() *wire.Payout {
	return &wire.Payout{
		Header: r.RowHeader.toRecord(resourcePayout), ClaimID: resourceClaim.formatID(r.ClaimID), PolicyID: resourcePolicy.formatID(r.PolicyID),
		Status: string(r.Status), Amount: r.toMoney(), PayoutMethodID: resourcePayoutMethod.formatOptionalID(r.PayoutMethodID),
		BlockedReason: (*string)(r.BlockedReason), Attempts: r.Attempts, NextAttemptAt: r.NextAttemptAt,
		Provider: r.Provider, ProviderReference: r.ProviderReference,
		ReleasedAt: r.ReleasedAt, ReconciledAt: r.ReconciledAt, ReplacesPayoutID: resourcePayout.formatOptionalID(r.ReplacesPayoutID),
	}
}

func (r *payoutRow) toMoney() money.Money { return money.New(r.Amount, r.Currency) }

// startPayout tells that a payout exists and either asks for its release to a method
// or says what blocks it. The row is written by the caller.
func (tx *Tx) startPayout(p *policyRow, claim *claimRow, row *payoutRow, method *payoutMethodRow) error {
	check, err := tx.blocker(tx.ctx, p, claim, row, method)
	if err != nil {
		return err
	}
	reason := check.blocked
	row.PayoutMethodID = row.visibleMethodID(method, check)
	if reason == "" {
		row.NextAttemptAt = &check.releaseAt
		tx.enqueueRelease(row)
	}
	err = tx.recordPayoutEvent(claim, row, transfer{}, EventPayoutCreated, fmt.Sprintf("A payout of %s was made for the claim.", row.toMoney()))
	if err != nil || reason == "" {
		return err
	}
	row.BlockedReason = &reason
	return tx.transitionPayoutInMemory(claim, row, PayoutBlocked, blockedSentence(reason))
}

// recordPayoutEvent writes one event, its sentence in the claim's story, and what it changed
// in the ledger, where the payout stood as it was.
func (tx *Tx) recordPayoutEvent(claim *claimRow, row *payoutRow, was transfer, kind EventType, summary string) error {
	public := row.toRecord()
	event, err := tx.appendEvent(kind, &row.RowHeader, resourcePayout, public)
	if err != nil {
		return err
	}
	tx.postPayout(event, row, was)
	return tx.appendTimeline(claim, kind, &event, summary, payoutTimelineData{public.Amount, row.BlockedReason, public.ID, row.ProviderReference, row.Status})
}

// payoutTimelineData is the data of a sentence about a payout.
type payoutTimelineData struct {
	Amount            money.Money    `json:"amount"`
	BlockedReason     *BlockedReason `json:"blocked_reason"`
	PayoutID          string         `json:"payout_id"`
	ProviderReference *string        `json:"provider_reference"`
	Status            PayoutStatus   `json:"status"`
}

// selectMethod is the method a claim is paid to: its own before its policy's, a
// verified one before others, the newest first.
func selectMethod(methods []*payoutMethodRow, claim uuid.UUID) *payoutMethodRow {
	var best *payoutMethodRow
	rank := func(m *payoutMethodRow) int {
		own, verified := 0, 0
		if m.ClaimID != nil {
			own = 1
		}
		if m.Status == MethodVerified {
			verified = 2
		}
		return own + verified
	}
	for _, m := range methods { // oldest first, so an equal one that comes later is newer
		if m.Status == MethodReplaced || m.Status == MethodRejected || m.ClaimID != nil && *m.ClaimID != claim {
			continue
		}
		if best == nil || rank(m) >= rank(best) {
			best = m
		}
	}
	return best
}

// loadUsableMethods are the usable methods of policies, oldest first. One whose number was
// erased pays nobody.
func loadUsableMethods(ctx context.Context, db bun.IDB, policies []*policyRow) (map[uuid.UUID][]*payoutMethodRow, error) {
	var rows []*payoutMethodRow
	err := db.NewSelect().Model(&rows).Where("pm.policy_id in (?)", bun.List(policyIDs(policies))).
		Where("pm.status in (?, ?)", MethodPending, MethodVerified).Where("length(pm.sealed) > 0").OrderExpr("pm.id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read payout methods: %w", err)
	}
	methods := make(map[uuid.UUID][]*payoutMethodRow)
	for _, row := range rows {
		methods[row.PolicyID] = append(methods[row.PolicyID], row)
	}
	return methods, nil
}

// transitionPayout moves a locked payout and tells it; the caller writes told.
func (tx *Tx) transitionPayout(ctx context.Context, claim *claimRow, row *payoutRow, to PayoutStatus, summary string) error {
	out := newLockedPayout(claim, row)
	if err := tx.transitionPayoutInMemory(claim, row, to, summary); err != nil {
		return err
	}
	return tx.savePayout(ctx, out)
}

// blockPayout moves a payout to blocked, or changes why it is.
func (tx *Tx) blockPayout(ctx context.Context, claim *claimRow, row *payoutRow, reason BlockedReason, change methodChange) error {
	out := newLockedPayout(claim, row)
	if err := tx.blockWithMethodChange(claim, row, reason, change); err != nil || row.Version == out.version {
		return err
	}
	return tx.savePayout(ctx, out)
}

func (tx *Tx) savePayout(ctx context.Context, out lockedPayout) error {
	return tx.updateRow(ctx, out.row, out.version, []string{string(out.status)}, "status", "blocked_reason", "held_over", "payout_method_id", "attempts",
		"key_number", "next_attempt_at", "provider", "provider_reference", "released_at", "reconciled_at",
		"approvals_needed", "settled", "version", "updated_at")
}

// isForMethod tells whether the payout was last meant for a method.
func (r *payoutRow) isForMethod(method *payoutMethodRow) bool {
	return method != nil && r.PayoutMethodID != nil && method.ID == *r.PayoutMethodID
}

func blockedSentence(reason BlockedReason) string {
	return map[BlockedReason]string{
		BlockedMethodMissing:    "The payout waits for a payout method; record one.",
		BlockedMethodUnverified: "The payout waits until its payout method is verified.",
		BlockedApproval:         "The payout waits for an operator's approval.",
		BlockedRailRejected:     "The rail refused the payout; record another payout method.",
		BlockedRailMismatch:     "The rail reports something else than was asked; an operator looks into it.",
		BlockedCompliance:       "The payout is held by compliance.",
		BlockedOperator:         "The payout is held by an operator.",
	}[reason]
}
