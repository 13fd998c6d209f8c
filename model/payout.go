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

// payoutRow is a payout. next_attempt_at decides when the payout is due; the job queue
// only wakes a worker.
type payoutRow struct {
	bun.BaseModel `bun:"table:payouts,alias:po"`
	RowHeader

	ClaimID             uuid.UUID `bun:"type:uuid"`
	ClaimSequence       int64     // 1, 2, 3 … in its claim; Postgres assigns it on insert
	PolicyID            uuid.UUID `bun:"type:uuid"`
	Status              PayoutStatus
	Installment         int // number of this instalment of the claim's debt, from 1
	Amount              int64
	Currency            string
	PayoutMethodID      *uuid.UUID `bun:"type:uuid"`
	BlockedReason       *BlockedReason
	PreviousBlockReason *BlockedReason // the blocked reason before an operator's hold
	Attempts            int            // number of calls to a rail
	DebtDigest          *string        // digest of the debt; part of the rail's key, see idempotencyKey
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

// startPayout records the creation of a payout and either schedules its release to the
// method or records why it is blocked. The caller inserts the row.
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
	err = tx.recordPayoutEvent(claim, row, transfer{}, EventPayoutCreated, fmt.Sprintf("A payout of %s was created for the claim.", row.toMoney()))
	if err != nil || reason == "" {
		return err
	}
	row.BlockedReason = &reason
	return tx.transitionPayoutInMemory(claim, row, PayoutBlocked, blockedSentence(reason))
}

// recordPayoutEvent records an event, its entry in the claim's timeline and the ledger
// postings for the change since was.
func (tx *Tx) recordPayoutEvent(claim *claimRow, row *payoutRow, was transfer, kind EventType, summary string) error {
	public := row.toRecord()
	event, err := tx.appendEvent(kind, &row.RowHeader, resourcePayout, public)
	if err != nil {
		return err
	}
	tx.postPayout(event, row, was)
	return tx.appendTimeline(claim, kind, &event, summary, payoutTimelineData{public.Amount, row.BlockedReason, public.ID, row.ProviderReference, row.Status})
}

// payoutTimelineData is the data of a payout's timeline entry.
type payoutTimelineData struct {
	Amount            money.Money    `json:"amount"`
	BlockedReason     *BlockedReason `json:"blocked_reason"`
	PayoutID          string         `json:"payout_id"`
	ProviderReference *string        `json:"provider_reference"`
	Status            PayoutStatus   `json:"status"`
}

// selectMethod returns the method a claim is paid to: the claim's own before its
// policy's, then verified before unverified, then the newest.
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
	for _, m := range methods { // oldest first, so of two equal methods the later one is newer
		if m.Status == MethodReplaced || m.Status == MethodRejected || m.ClaimID != nil && *m.ClaimID != claim {
			continue
		}
		if best == nil || rank(m) >= rank(best) {
			best = m
		}
	}
	return best
}

// loadUsableMethods returns the usable methods of policies, oldest first. It omits
// methods whose account number was erased, because no payout can use them.
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

// transitionPayout changes the status of a locked payout and records the event; the
// caller writes the claim's timeline position.
func (tx *Tx) transitionPayout(ctx context.Context, claim *claimRow, row *payoutRow, to PayoutStatus, summary string) error {
	out := newLockedPayout(claim, row)
	if err := tx.transitionPayoutInMemory(claim, row, to, summary); err != nil {
		return err
	}
	return tx.savePayout(ctx, out)
}

// blockPayout blocks a payout, or changes the reason of a blocked one.
func (tx *Tx) blockPayout(ctx context.Context, claim *claimRow, row *payoutRow, reason BlockedReason, change methodChange) error {
	out := newLockedPayout(claim, row)
	if err := tx.blockWithMethodChange(claim, row, reason, change); err != nil || row.Version == out.version {
		return err
	}
	return tx.savePayout(ctx, out)
}

func (tx *Tx) savePayout(ctx context.Context, out lockedPayout) error {
	return tx.updateRow(ctx, out.row, out.version, []string{string(out.status)}, "status", "blocked_reason", "previous_block_reason", "payout_method_id", "attempts",
		"idempotency_seq", "next_attempt_at", "provider", "provider_reference", "released_at", "reconciled_at",
		"approvals_needed", "settled_externally", "version", "updated_at")
}

// isForMethod reports whether the payout was last assigned to the method.
func (r *payoutRow) isForMethod(method *payoutMethodRow) bool {
	return method != nil && r.PayoutMethodID != nil && method.ID == *r.PayoutMethodID
}

func blockedSentence(reason BlockedReason) string {
	return map[BlockedReason]string{
		BlockedMethodMissing:    "The payout waits for a payout method; record one.",
		BlockedMethodUnverified: "The payout waits until its payout method is verified.",
		BlockedApproval:         "The payout waits for an operator's approval.",
		BlockedRailRejected:     "The rail refused the payout; record another payout method.",
		BlockedRailMismatch:     "The rail reports a payment that differs from the order; an operator investigates.",
		BlockedCompliance:       "The payout is held by compliance.",
		BlockedOperator:         "The payout is held by an operator.",
	}[reason]
}
