package model

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

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

// selectMethodOnceVerified returns the method that a claim would be paid to if all
// pending account checks succeeded.
func selectMethodOnceVerified(methods []*payoutMethodRow, claim uuid.UUID) *payoutMethodRow {
	verified, original := make([]*payoutMethodRow, len(methods)), make(map[uuid.UUID]*payoutMethodRow, len(methods))
	for i, m := range methods {
		later := *m
		later.Status = MethodVerified
		verified[i], original[m.ID] = &later, m
	}
	if best := selectMethod(verified, claim); best != nil {
		return original[best.ID]
	}
	return nil
}

// isForMethod reports whether the payout was last assigned to the method.
func (r *payoutRow) isForMethod(method *payoutMethodRow) bool {
	return method != nil && r.PayoutMethodID != nil && method.ID == *r.PayoutMethodID
}
