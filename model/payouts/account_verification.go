package payouts

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/account"
	"parapet/model/claims"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// PayeeAccount is an account that a rail verifies.
type PayeeAccount struct {
	Beneficiary account.Beneficiary
	Number      account.Number
}

// The sweep requeues an account check checkAgainAfter after it began, or checkLostAfter
// after it was enqueued. The second is longer, so that jobs do not pile up behind a rail
// that hangs.
const (
	checkAgainAfter = 30 * time.Second
	checkLostAfter  = 5 * time.Minute
)

// BeginVerification starts the check of a pending method and decrypts its account. It
// returns nil when the method needs no check.
func (s *Service) BeginVerification(ctx context.Context, partner, id string) (*PayeeAccount, error) {
	key, err := store.ResourcePayoutMethod.ParseID(id)
	if err != nil {
		return nil, err
	}
	row := new(PayoutMethodRow)
	err = s.InTx(ctx, actor.System(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.NewSelect().Model(row).Where("id = ?", key).Where("partner = ?", partner).Scan(ctx); err != nil {
			return fmt.Errorf("read payout method: %w", err)
		}
		_, err := tx.NewUpdate().Model((*PayoutMethodRow)(nil)).Set("next_check_at = ?", tx.Now.Add(checkAgainAfter)).
			Where("id = ?", key).Where("partner = ?", partner).Where("status = ?", MethodPending).Exec(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if row.Status != MethodPending {
		return nil, nil //nolint:nilnil // no check to do; this is not an error
	}
	number, err := row.OpenNumber(s.Keys)
	if err != nil {
		return nil, fmt.Errorf("open account of %s: %w", id, err)
	}
	return &PayeeAccount{account.Beneficiary{Name: row.BeneficiaryName, Country: row.BeneficiaryCountry}, number}, nil
}

// RequeueAccountChecks enqueues account checks that failed or were lost.
func RequeueAccountChecks(ctx context.Context, tx *store.Tx) (int, error) {
	var rows []struct {
		ID      uuid.UUID
		Partner string
	}
	err := tx.NewRaw(`update payout_methods set next_check_at = ? where (id, partner) in (
			select id, partner from payout_methods where status = 'pending' and next_check_at <= ?
			order by next_check_at limit ? for no key update skip locked)
		returning id, partner`, tx.Now.Add(checkLostAfter), tx.Now, store.SweepBatchSize).Scan(ctx, &rows)
	if err != nil {
		return 0, fmt.Errorf("find unchecked accounts: %w", err)
	}
	for _, row := range rows {
		tx.EnqueueJob(VerifyPayoutMethod{Partner: row.Partner, ID: store.ResourcePayoutMethod.FormatID(row.ID)})
	}
	return len(rows), nil
}

// RecordVerification stores the rail's answer for an account and releases the payouts
// that waited for it.
func (s *Service) RecordVerification(ctx context.Context, partner, id, method, code string, verified bool) error {
	key, err := store.ResourcePayoutMethod.ParseID(id)
	if err != nil {
		return err
	}
	return s.InTx(ctx, actor.Actor{Kind: actor.KindRail, Name: method}, func(ctx context.Context, tx *store.Tx) error {
		row := new(PayoutMethodRow)
		if err := tx.NewSelect().Model(row).Where("id = ?", key).Where("partner = ?", partner).Scan(ctx); err != nil {
			return fmt.Errorf("read payout method: %w", err)
		}
		p, served, err := lockServedClaims(ctx, tx, row)
		if err != nil {
			return err
		}
		if err := tx.LockRow(ctx, row, key, store.ResourcePayoutMethod); err != nil {
			return err
		}
		if row.Status != MethodPending {
			return nil
		}
		row.VerificationMethod, row.VerificationCode, row.CheckedAt = &method, &code, &tx.Now
		to := MethodRejected
		if verified {
			to = MethodVerified
		}
		var own *claims.ClaimRow
		if row.ClaimID != nil && len(served) == 1 {
			own = served[0]
		}
		if err := transitionMethod(ctx, tx, row, own, to, "verification_method", "verification_code", "checked_at"); err != nil {
			return err
		}
		return reevaluateClaims(ctx, tx, p, own, served)
	})
}

// lockServedClaims locks the policy and the claims that a method pays.
func lockServedClaims(ctx context.Context, tx *store.Tx, method *PayoutMethodRow) (*underwriting.PolicyRow, []*claims.ClaimRow, error) {
	p := new(underwriting.PolicyRow)
	if err := tx.LockRow(ctx, p, method.PolicyID, store.ResourcePolicy); err != nil {
		return nil, nil, err
	}
	var served []*claims.ClaimRow
	q := tx.NewSelect().Model(&served).Where("c.policy_id = ?", p.ID).Where("c.partner = ?", p.Partner).OrderExpr("c.id").For("NO KEY UPDATE")
	if method.ClaimID != nil {
		q = q.Where("c.id = ?", method.ClaimID)
	} else {
		q = q.Where("c.status in (?)", bun.List([]claims.ClaimStatus{claims.ClaimApproved}))
	}
	if err := q.Scan(ctx); err != nil {
		return nil, nil, fmt.Errorf("lock claims: %w", err)
	}
	for _, c := range served {
		claims.AdvanceClockPastTimeline(tx, c)
	}
	return p, served, nil
}

func reevaluateClaims(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow, own *claims.ClaimRow, served []*claims.ClaimRow) error {
	for _, claim := range served {
		if err := reevaluatePayouts(ctx, tx, p, claim); err != nil {
			return err
		}
	}
	if own == nil {
		return nil
	}
	return claims.SaveTimelinePosition(ctx, tx, own)
}
