package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"
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
func (s *Service) changePayout(ctx context.Context, actor Actor, partner, id string, do func(context.Context, *Tx, *claimRow, *payoutRow) error) error {
	key, err := resourcePayout.parseID(id)
	if err != nil {
		return err
	}
	return s.InTx(ctx, actor, func(ctx context.Context, tx *Tx) error {
		claim, row, err := tx.lockPayout(ctx, partner, key)
		if err != nil {
			return err
		}
		return do(ctx, tx, claim, row)
	})
}

// lockPayout locks a payout, and its claim first. Without a partner it finds any payout
// that the actor may see.
func (tx *Tx) lockPayout(ctx context.Context, partner string, id uuid.UUID) (*claimRow, *payoutRow, error) {
	locked, err := tx.lockPayouts(ctx, partner, []uuid.UUID{id})
	if err != nil {
		return nil, nil, err
	}
	if len(locked) == 0 {
		return nil, nil, resourcePayout.notFoundError()
	}
	return locked[0].claim, locked[0].row, nil
}

// lockPayouts locks those of the payouts that the actor may see, and their claims
// first, in the order of their ids.
func (tx *Tx) lockPayouts(ctx context.Context, partner string, ids []uuid.UUID) ([]lockedPayout, error) {
	var of lockResult
	tx.queueLocks(&of, partner, ids)
	if err := tx.flush(ctx); err != nil {
		return nil, fmt.Errorf("lock payouts: %w", err)
	}
	return tx.lockedPayouts(&of), nil
}

// lockResult is the result of queued locks after their batch was sent.
type lockResult struct {
	claims []claimRow
	rows   []payoutRow
}

// queueLocks queues the locks of lockPayouts; lockedPayouts returns their result.
func (tx *Tx) queueLocks(of *lockResult, partner string, ids []uuid.UUID) {
	*of = lockResult{}
	tx.queueSelect(&of.claims, tx.store.statements.get((*claimRow)(nil), "lock by payouts "+tx.actor.tenantPredicate(), func() string {
		return tx.NewSelect().Model((*claimRow)(nil)).Where(tx.actor.tenantPredicate()).
			Where("(c.id, c.partner) in (select po.claim_id, po.partner from payouts as po where po.id = any($1) and $3 in ('', po.partner))").
			OrderExpr("c.id").For("NO KEY UPDATE").String()
	}), ids, tx.actor.tenantArg(), partner)
	tx.queueSelect(&of.rows, tx.store.statements.get((*payoutRow)(nil), "lock all "+tx.actor.tenantPredicate(), func() string {
		return tx.NewSelect().Model((*payoutRow)(nil)).Where(tx.actor.tenantPredicate()).Where("po.id = any($1) and $3 in ('', po.partner)").
			OrderExpr("po.id").For("NO KEY UPDATE").String()
	}), ids, tx.actor.tenantArg(), partner)
}

func (tx *Tx) lockedPayouts(of *lockResult) []lockedPayout {
	byID := make(map[uuid.UUID]*claimRow, len(of.claims))
	for i := range of.claims {
		byID[of.claims[i].ID] = &of.claims[i]
		tx.advanceClockPastTimeline(&of.claims[i])
	}
	locked := make([]lockedPayout, len(of.rows))
	for i := range of.rows {
		tx.advanceClock(&of.rows[i].RowHeader)
		locked[i] = newLockedPayout(byID[of.rows[i].ClaimID], &of.rows[i])
	}
	return locked
}

// lockClaimAndPolicy locks the policy of a claim first, then the claim.
func (tx *Tx) lockClaimAndPolicy(ctx context.Context, id uuid.UUID) (*policyRow, *claimRow, error) {
	claim, policy := new(claimRow), new(policyRow)
	if err := tx.actor.restrictToTenant(tx.NewSelect().Model(claim).Column("policy_id").Where("c.id = ?", id)).Scan(ctx); err != nil {
		if isNoRows(err) {
			return nil, nil, resourceClaim.notFoundError()
		}
		return nil, nil, fmt.Errorf("read claim: %w", err)
	}
	if err := tx.lockRow(ctx, policy, claim.PolicyID, resourcePolicy); err != nil {
		return nil, nil, err
	}
	claim, err := tx.lockClaim(ctx, id)
	return policy, claim, err
}
