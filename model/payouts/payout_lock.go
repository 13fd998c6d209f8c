package payouts

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// LockedPayout is a locked payout with its claim and the version and status at the
// read.
type LockedPayout struct {
	Claim   *claims.ClaimRow
	Row     *claims.PayoutRow
	Version int64
	status  claims.PayoutStatus
}

// NewLockedPayout returns a payout that the caller has locked with its claim.
func NewLockedPayout(claim *claims.ClaimRow, row *claims.PayoutRow) LockedPayout {
	return LockedPayout{claim, row, row.Version, row.Status}
}

// ChangePayout changes one payout in a transaction.
func ChangePayout(ctx context.Context, s *store.Store, actor actor.Actor, partner, id string, do func(context.Context, *store.Tx, *claims.ClaimRow, *claims.PayoutRow) error) error {
	key, err := store.ResourcePayout.ParseID(id)
	if err != nil {
		return err
	}
	return s.InTx(ctx, actor, func(ctx context.Context, tx *store.Tx) error {
		claim, row, err := LockPayout(ctx, tx, partner, key)
		if err != nil {
			return err
		}
		return do(ctx, tx, claim, row)
	})
}

// LockPayout locks a payout, and its claim first. Without a partner it finds any payout
// that the actor may see.
func LockPayout(ctx context.Context, tx *store.Tx, partner string, id uuid.UUID) (*claims.ClaimRow, *claims.PayoutRow, error) {
	locked, err := LockPayouts(ctx, tx, partner, []uuid.UUID{id})
	if err != nil {
		return nil, nil, err
	}
	if len(locked) == 0 {
		return nil, nil, store.ResourcePayout.NotFoundError()
	}
	return locked[0].Claim, locked[0].Row, nil
}

// LockPayouts locks those of the payouts that the actor may see, and their claims
// first, in the order of their ids.
func LockPayouts(ctx context.Context, tx *store.Tx, partner string, ids []uuid.UUID) ([]LockedPayout, error) {
	var of LockResult
	QueueLocks(tx, &of, partner, ids)
	if err := tx.Flush(ctx); err != nil {
		return nil, fmt.Errorf("lock payouts: %w", err)
	}
	return LockedPayouts(tx, &of), nil
}

// LockResult is the result of queued locks after their batch was sent.
type LockResult struct {
	claims []claims.ClaimRow
	rows   []claims.PayoutRow
}

// QueueLocks queues the locks of LockPayouts; LockedPayouts returns their result.
func QueueLocks(tx *store.Tx, of *LockResult, partner string, ids []uuid.UUID) {
	*of = LockResult{}
	tx.QueueSelect(&of.claims, tx.Store.Statements.Get((*claims.ClaimRow)(nil), "lock by payouts "+store.TenantPredicate(tx.Actor), func() string {
		return tx.NewSelect().Model((*claims.ClaimRow)(nil)).Where(store.TenantPredicate(tx.Actor)).
			Where("(c.id, c.partner) in (select po.claim_id, po.partner from payouts as po where po.id = any($1) and $3 in ('', po.partner))").
			OrderExpr("c.id").For("NO KEY UPDATE").String()
	}), ids, store.TenantArg(tx.Actor), partner)
	tx.QueueSelect(&of.rows, tx.Store.Statements.Get((*claims.PayoutRow)(nil), "lock all "+store.TenantPredicate(tx.Actor), func() string {
		return tx.NewSelect().Model((*claims.PayoutRow)(nil)).Where(store.TenantPredicate(tx.Actor)).Where("po.id = any($1) and $3 in ('', po.partner)").
			OrderExpr("po.id").For("NO KEY UPDATE").String()
	}), ids, store.TenantArg(tx.Actor), partner)
}

// LockedPayouts returns what LockPayouts read.
func LockedPayouts(tx *store.Tx, of *LockResult) []LockedPayout {
	byID := make(map[uuid.UUID]*claims.ClaimRow, len(of.claims))
	for i := range of.claims {
		byID[of.claims[i].ID] = &of.claims[i]
		claims.AdvanceClockPastTimeline(tx, &of.claims[i])
	}
	locked := make([]LockedPayout, len(of.rows))
	for i := range of.rows {
		tx.AdvanceClock(&of.rows[i].RowHeader)
		locked[i] = NewLockedPayout(byID[of.rows[i].ClaimID], &of.rows[i])
	}
	return locked
}

// LockClaimAndPolicy locks the policy of a claim first, then the claim.
func LockClaimAndPolicy(ctx context.Context, tx *store.Tx, id uuid.UUID) (*underwriting.PolicyRow, *claims.ClaimRow, error) {
	claim, policy := new(claims.ClaimRow), new(underwriting.PolicyRow)
	if err := store.RestrictToTenant(tx.Actor, tx.NewSelect().Model(claim).Column("policy_id").Where("c.id = ?", id)).Scan(ctx); err != nil {
		if store.IsNoRows(err) {
			return nil, nil, store.ResourceClaim.NotFoundError()
		}
		return nil, nil, fmt.Errorf("read claim: %w", err)
	}
	if err := tx.LockRow(ctx, policy, claim.PolicyID, store.ResourcePolicy); err != nil {
		return nil, nil, err
	}
	claim, err := claims.LockClaim(ctx, tx, id)
	return policy, claim, err
}
