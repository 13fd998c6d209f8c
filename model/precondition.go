package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/wire"
)

// Precondition is a caller's condition on a record: the record must still be as the
// caller saw it (If-Match, RFC 9110 section 13.1.1). It is checked in the writing
// transaction, with the record locked, so that no other change can come between. It is
// checked after the lookup of the idempotency key, so that a repeated request gets its
// first response although the first one changed the record.
type Precondition struct {
	ID    string                 // id of a quote, policy, claim, payout or webhook endpoint
	Check func(record any) error // gets the v1 record; a non-nil error refuses the write
}

// RequireVersion requires that a record still has this version.
func RequireVersion(id string, version int64) *Precondition {
	return &Precondition{ID: id, Check: func(record any) error {
		if now := record.(interface{ Head() wire.Header }).Head().Version; now != version {
			return Fail(CodeVersionMismatch, "It has version %d by now; read it again before you change it.", now)
		}
		return nil
	}}
}

// checkPrecondition checks the actor's condition, if there is one.
func (tx *Tx) checkPrecondition(ctx context.Context) error {
	condition := tx.actor.Precondition
	if condition == nil {
		return nil
	}
	record, err := tx.lockRecord(ctx, condition.ID)
	if err != nil {
		return err
	}
	return condition.Check(record)
}

// lockRecord locks a record and everything in its representation, in the lock order,
// and reads the record as the caller sees it.
func (tx *Tx) lockRecord(ctx context.Context, id string) (any, error) {
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
