package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/wire"
)

// lockRecord locks a record and everything in its representation, in the lock order,
// and reads the record as the caller sees it.
func lockRecord(ctx context.Context, tx *Tx, id string) (any, error) {
	if quote, err := resourceQuote.parseID(id); err == nil {
		row := new(quoteRow)
		if err := tx.lockRow(ctx, row, quote, resourceQuote); err != nil {
			return nil, err
		}
		var moratoria []moratoriumRow
		tx.queueMoratoria(&moratoria)
		if err := tx.flush(ctx); err != nil {
			return nil, fmt.Errorf("read moratoria: %w", err)
		}
		return row.toRecordAt(tx.now, moratoria), nil
	}
	if policy, err := resourcePolicy.parseID(id); err == nil {
		return tx.lockPolicyRecord(ctx, policy)
	}
	if endpoint, err := resourceEndpoint.parseID(id); err == nil {
		row := new(endpointRow)
		if err := tx.lockRow(ctx, row, endpoint, resourceEndpoint); err != nil {
			return nil, err
		}
		return row.toRecord(), nil
	}
	if payout, err := resourcePayout.parseID(id); err == nil {
		_, row, err := tx.lockPayout(ctx, "", payout)
		if err != nil {
			return nil, err
		}
		return row.toRecord(), nil
	}
	claim, err := resourceClaim.parseID(id)
	if err != nil {
		return nil, err
	}
	_, row, err := tx.lockClaimAndPolicy(ctx, claim)
	if err != nil {
		return nil, err
	}
	return tx.loadClaimRecord(ctx, row)
}

func (tx *Tx) lockPolicyRecord(ctx context.Context, id uuid.UUID) (*wire.Policy, error) {
	row := new(policyRow)
	if err := tx.lockRow(ctx, row, id, resourcePolicy); err != nil {
		return nil, err
	}
	// Opening a claim takes the policy's lock, so the newest claims stay the newest.
	_, err := tx.NewRaw("select from claims where policy_id = ? and partner = ? order by policy_sequence desc limit ? for no key update",
		row.ID, row.Partner, maxEmbedded).Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock claims of a policy: %w", err)
	}
	claims, err := loadPolicyClaims(ctx, tx, []uuid.UUID{row.ID})
	if err != nil {
		return nil, err
	}
	return row.toRecord(tx.now, claims[row.ID]), nil
}
