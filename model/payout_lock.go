package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
)

// lockedPayout is a locked payout with its claim and the version and status at the
// read.
type lockedPayout struct {
	claim   *claimRow
	row     *payoutRow
	version int64
	status  PayoutStatus
}

func newLockedPayout(claim *claimRow, row *payoutRow) lockedPayout {
	return lockedPayout{claim, row, row.Version, row.Status}
}

// changePayout changes one payout in a transaction.
func (s *Service) changePayout(ctx context.Context, actor actor.Actor, partner, id string, do func(context.Context, *store.Tx, *claimRow, *payoutRow) error) error {
	key, err := store.ResourcePayout.ParseID(id)
	if err != nil {
		return err
	}
	return s.InTx(ctx, actor, func(ctx context.Context, tx *store.Tx) error {
		claim, row, err := lockPayout(ctx, tx, partner, key)
		if err != nil {
			return err
		}
		return do(ctx, tx, claim, row)
	})
}

// lockPayout locks a payout, and its claim first. Without a partner it finds any payout
// that the actor may see.
func lockPayout(ctx context.Context, tx *store.Tx, partner string, id uuid.UUID) (*claimRow, *payoutRow, error) {
	locked, err := lockPayouts(ctx, tx, partner, []uuid.UUID{id})
	if err != nil {
		return nil, nil, err
	}
	if len(locked) == 0 {
		return nil, nil, store.ResourcePayout.NotFoundError()
	}
	return locked[0].claim, locked[0].row, nil
}

// lockPayouts locks those of the payouts that the actor may see, and their claims
// first, in the order of their ids.
func lockPayouts(ctx context.Context, tx *store.Tx, partner string, ids []uuid.UUID) ([]lockedPayout, error) {
	var of lockResult
	queueLocks(tx, &of, partner, ids)
	if err := tx.Flush(ctx); err != nil {
		return nil, fmt.Errorf("lock payouts: %w", err)
	}
	return lockedPayouts(tx, &of), nil
}

// lockResult is the result of queued locks after their batch was sent.
type lockResult struct {
	claims []claimRow
	rows   []payoutRow
}

// queueLocks queues the locks of lockPayouts; lockedPayouts returns their result.
func queueLocks(tx *store.Tx, of *lockResult, partner string, ids []uuid.UUID) {
	*of = lockResult{}
	tx.QueueSelect(&of.claims, tx.Store.Statements.Get((*claimRow)(nil), "lock by payouts "+store.TenantPredicate(tx.Actor), func() string {
		return tx.NewSelect().Model((*claimRow)(nil)).Where(store.TenantPredicate(tx.Actor)).
			Where("(c.id, c.partner) in (select po.claim_id, po.partner from payouts as po where po.id = any($1) and $3 in ('', po.partner))").
			OrderExpr("c.id").For("NO KEY UPDATE").String()
	}), ids, store.TenantArg(tx.Actor), partner)
	tx.QueueSelect(&of.rows, tx.Store.Statements.Get((*payoutRow)(nil), "lock all "+store.TenantPredicate(tx.Actor), func() string {
		return tx.NewSelect().Model((*payoutRow)(nil)).Where(store.TenantPredicate(tx.Actor)).Where("po.id = any($1) and $3 in ('', po.partner)").
			OrderExpr("po.id").For("NO KEY UPDATE").String()
	}), ids, store.TenantArg(tx.Actor), partner)
}

func lockedPayouts(tx *store.Tx, of *lockResult) []lockedPayout {
	byID := make(map[uuid.UUID]*claimRow, len(of.claims))
	for i := range of.claims {
		byID[of.claims[i].ID] = &of.claims[i]
		advanceClockPastTimeline(tx, &of.claims[i])
	}
	locked := make([]lockedPayout, len(of.rows))
	for i := range of.rows {
		tx.AdvanceClock(&of.rows[i].RowHeader)
		locked[i] = newLockedPayout(byID[of.rows[i].ClaimID], &of.rows[i])
	}
	return locked
}

// lockClaimAndPolicy locks the policy of a claim first, then the claim.
func lockClaimAndPolicy(ctx context.Context, tx *store.Tx, id uuid.UUID) (*policyRow, *claimRow, error) {
	claim, policy := new(claimRow), new(policyRow)
	if err := store.RestrictToTenant(tx.Actor, tx.NewSelect().Model(claim).Column("policy_id").Where("c.id = ?", id)).Scan(ctx); err != nil {
		if store.IsNoRows(err) {
			return nil, nil, store.ResourceClaim.NotFoundError()
		}
		return nil, nil, fmt.Errorf("read claim: %w", err)
	}
	if err := tx.LockRow(ctx, policy, claim.PolicyID, store.ResourcePolicy); err != nil {
		return nil, nil, err
	}
	claim, err := lockClaim(ctx, tx, id)
	return policy, claim, err
}
