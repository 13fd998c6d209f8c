package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/claims"
	"parapet/model/claims/measured"
	"parapet/model/events/webhooks"
	"parapet/model/kernel/store"
	"parapet/model/payouts"
	"parapet/model/quoting"
	"parapet/model/underwriting"
	"parapet/model/underwriting/capacity"
	"parapet/model/wire"
)

// lockRecord locks a record and everything in its representation, in the lock order,
// and reads the record as the caller sees it.
func lockRecord(ctx context.Context, tx *store.Tx, id string) (any, error) {
	if quote, err := store.ResourceQuote.ParseID(id); err == nil {
		row := new(quoting.QuoteRow)
		if err := tx.LockRow(ctx, row, quote, store.ResourceQuote); err != nil {
			return nil, err
		}
		var moratoria []capacity.MoratoriumRow
		capacity.QueueMoratoria(tx, &moratoria)
		if err := tx.Flush(ctx); err != nil {
			return nil, fmt.Errorf("read moratoria: %w", err)
		}
		return row.ToRecordAt(tx.Now, moratoria), nil
	}
	if policy, err := store.ResourcePolicy.ParseID(id); err == nil {
		return lockPolicyRecord(ctx, tx, policy)
	}
	if endpoint, err := store.ResourceEndpoint.ParseID(id); err == nil {
		row := new(webhooks.EndpointRow)
		if err := tx.LockRow(ctx, row, endpoint, store.ResourceEndpoint); err != nil {
			return nil, err
		}
		return row.ToRecord(), nil
	}
	if payout, err := store.ResourcePayout.ParseID(id); err == nil {
		_, row, err := payouts.LockPayout(ctx, tx, "", payout)
		if err != nil {
			return nil, err
		}
		return row.ToRecord(), nil
	}
	claim, err := store.ResourceClaim.ParseID(id)
	if err != nil {
		return nil, err
	}
	_, row, err := payouts.LockClaimAndPolicy(ctx, tx, claim)
	if err != nil {
		return nil, err
	}
	record, err := claims.LoadClaimRecord(ctx, tx, row)
	if err != nil {
		return nil, err
	}
	return record, measured.Attach(ctx, tx, record)
}

func lockPolicyRecord(ctx context.Context, tx *store.Tx, id uuid.UUID) (*wire.Policy, error) {
	row := new(underwriting.PolicyRow)
	if err := tx.LockRow(ctx, row, id, store.ResourcePolicy); err != nil {
		return nil, err
	}
	// Opening a claim takes the policy's lock, so the newest claims stay the newest.
	_, err := tx.NewRaw("select from claims where policy_id = ? and partner = ? order by policy_sequence desc limit ? for no key update",
		row.ID, row.Partner, store.MaxEmbedded).Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock claims of a policy: %w", err)
	}
	claims, err := underwriting.LoadPolicyClaims(ctx, tx, []uuid.UUID{row.ID})
	if err != nil {
		return nil, err
	}
	return row.ToRecord(tx.Now, claims[row.ID]), nil
}
