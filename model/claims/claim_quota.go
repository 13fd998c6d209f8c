package claims

import (
	"context"
	"fmt"
	"time"

	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// approvalQuota is the maximum number of claims of origin approval per policy in any
// approvalPeriod. Each of them costs an operator's time.
const (
	approvalQuota  = 20
	approvalPeriod = 24 * time.Hour
)

// CheckApprovalQuota returns an error when a claim of origin approval exceeds the quota.
// The caller holds the policy's lock, so that two requests cannot both take the last
// place. Replayed requests do not reach this check, and withdrawn claims count.
func CheckApprovalQuota(ctx context.Context, tx *store.Tx, p *underwriting.PolicyRow) error {
	var opened time.Time
	err := tx.NewSelect().Model((*ClaimRow)(nil)).Column("created_at").Where("c.policy_id = ?", p.ID).Where("c.partner = ?", p.Partner).
		Where("c.origin = ?", OriginApproval).OrderExpr("c.policy_sequence desc").Offset(approvalQuota-1).Limit(1).Scan(ctx, &opened)
	if store.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the newest claims of origin approval: %w", err)
	}
	wait := opened.Add(approvalPeriod).Sub(tx.Now)
	if wait <= 0 {
		return nil
	}
	e := apperr.Fail(apperr.CodeRateLimited, "A policy accepts at most %d claims of origin approval in 24 hours. Add what is new to an open claim as a message or an attachment, or wait until %s.",
		approvalQuota, tx.Now.Add(wait).Format(time.RFC3339))
	e.ResourceID, e.RetryAfter = store.ResourcePolicy.FormatID(p.ID), wait
	return e
}
