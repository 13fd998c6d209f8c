package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"parapet/model/wire"
)

// Condition is what a caller demands of a record before anything is written: that
// it still is what they decided upon (If-Match, RFC 9110 section 13.1.1). It is
// judged in the transaction that writes, with the record locked, so that nobody
// changes it in between; and after the look-up of the idempotency key, so that a
// request that was done is answered again although it changed the record itself.
type Condition struct {
	ID    string                 // of a quote, a policy, a claim, a payout or a webhook endpoint
	Holds func(record any) error // is given the v1 record; why nothing may be written
}

// AtVersion demands that a record still has the version that was read.
func AtVersion(id string, version int64) *Condition {
	return &Condition{ID: id, Holds: func(record any) error {
		if now := record.(interface{ Head() wire.Header }).Head().Version; now != version {
			return Fail(CodeVersionMismatch, "It has version %d by now; read it again before you change it.", now)
		}
		return nil
	}}
}

// fulfilled judges the actor's condition, where there is one.
func (u *unit) fulfilled(ctx context.Context) error {
	condition := u.actor.Condition
	if condition == nil {
		return nil
	}
	record, err := u.held(ctx, condition.ID)
	if err != nil {
		return err
	}
	return condition.Holds(record)
}

// held locks a record and everything its representation shows, in the order of
// locks, and reads it as a caller does.
func (u *unit) held(ctx context.Context, id string) (any, error) {
	if quote, err := nounQuote.parse(id); err == nil {
		row := new(quoteRow)
		if err := u.locked(ctx, row, quote, nounQuote); err != nil {
			return nil, err
		}
		var moratoria []moratoriumRow
		u.readMoratoria(&moratoria)
		if err := u.send(ctx); err != nil {
			return nil, fmt.Errorf("read moratoria: %w", err)
		}
		return row.offered(u.now, moratoria), nil
	}
	if policy, err := nounPolicy.parse(id); err == nil {
		return u.heldPolicy(ctx, policy)
	}
	if endpoint, err := nounEndpoint.parse(id); err == nil {
		row := new(endpointRow)
		if err := u.locked(ctx, row, endpoint, nounEndpoint); err != nil {
			return nil, err
		}
		return row.public(), nil
	}
	if payout, err := nounPayout.parse(id); err == nil {
		_, row, err := u.lockPayout(ctx, "", payout)
		if err != nil {
			return nil, err
		}
		return row.public(), nil
	}
	claim, err := nounClaim.parse(id)
	if err != nil {
		return nil, err
	}
	_, row, err := u.lockClaimAndPolicy(ctx, claim)
	if err != nil {
		return nil, err
	}
	return u.publicClaim(ctx, row)
}

func (u *unit) heldPolicy(ctx context.Context, id uuid.UUID) (*wire.Policy, error) {
	row := new(policyRow)
	if err := u.locked(ctx, row, id, nounPolicy); err != nil {
		return nil, err
	}
	// Claims open under the policy's lock only, so the newest ones stay the newest.
	_, err := u.NewRaw("select from claims where policy_id = ? and partner = ? order by policy_sequence desc limit ? for no key update",
		row.ID, row.Partner, maxEmbedded).Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock claims of a policy: %w", err)
	}
	claims, err := claimsOf(ctx, u, []uuid.UUID{row.ID})
	if err != nil {
		return nil, err
	}
	return row.public(u.now, claims[row.ID]), nil
}

// lockClaimAndPolicy locks the policy of a claim, which comes first, and the claim.
func (u *unit) lockClaimAndPolicy(ctx context.Context, id uuid.UUID) (*policyRow, *claimRow, error) {
	claim, policy := new(claimRow), new(policyRow)
	if err := u.actor.tenancy(u.NewSelect().Model(claim).Column("policy_id").Where("c.id = ?", id)).Scan(ctx); err != nil {
		if absent(err) {
			return nil, nil, nounClaim.notFound()
		}
		return nil, nil, fmt.Errorf("read claim: %w", err)
	}
	if err := u.locked(ctx, policy, claim.PolicyID, nounPolicy); err != nil {
		return nil, nil, err
	}
	claim, err := u.lockClaim(ctx, id)
	return policy, claim, err
}
