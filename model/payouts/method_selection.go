package payouts

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/kernel/store"
	"parapet/model/underwriting"
)

// SelectMethod returns the method a claim is paid to: verified before unverified, then
// the claim's own before its policy's, then the newest. methods are oldest first.
func SelectMethod(methods []*PayoutMethodRow, claim uuid.UUID) *PayoutMethodRow {
	var best *PayoutMethodRow
	rank := func(m *PayoutMethodRow) int {
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

// LoadUsableMethods returns the usable methods of policies, oldest first. It omits
// methods whose account number was erased, because no payout can use them. The rows lack the
// columns that no decision about a payout reads, because a large event reads a row for each
// policy: do not save them, show them as records or open their account numbers.
func LoadUsableMethods(ctx context.Context, tx *store.Tx, policies []*underwriting.PolicyRow) (map[uuid.UUID][]*PayoutMethodRow, error) {
	var rows []*PayoutMethodRow
	// A list of ids in the text would be parsed and planned id by id.
	read := selectUsableMethods(tx, &rows).Where("pm.policy_id = any ($1)")
	if err := tx.ScanRows(ctx, read, &rows, underwriting.PolicyIDs(policies)); err != nil {
		return nil, fmt.Errorf("read payout methods: %w", err)
	}
	return groupMethods(rows), nil
}

func selectUsableMethods(db bun.IDB, rows *[]*PayoutMethodRow) *bun.SelectQuery {
	return db.NewSelect().Model(rows).ExcludeColumn("sealed", "version", "updated_at", "partner_reference", "metadata", "verification_method", "verification_code", "next_check_at").
		Where("pm.status in (?, ?)", MethodPending, MethodVerified).Where("length(pm.sealed) > 0").OrderExpr("pm.id")
}

// groupMethods returns methods by policy.
func groupMethods(rows []*PayoutMethodRow) map[uuid.UUID][]*PayoutMethodRow {
	methods := make(map[uuid.UUID][]*PayoutMethodRow)
	for _, row := range rows {
		methods[row.PolicyID] = append(methods[row.PolicyID], row)
	}
	return methods
}

// selectMethodOnceVerified returns the method that a claim would be paid to if all
// pending account checks succeeded.
func selectMethodOnceVerified(methods []*PayoutMethodRow, claim uuid.UUID) *PayoutMethodRow {
	verified, original := make([]*PayoutMethodRow, len(methods)), make(map[uuid.UUID]*PayoutMethodRow, len(methods))
	for i, m := range methods {
		later := *m
		later.Status = MethodVerified
		verified[i], original[m.ID] = &later, m
	}
	if best := SelectMethod(verified, claim); best != nil {
		return original[best.ID]
	}
	return nil
}

// isForMethod reports whether the payout was last assigned to the method.
func isForMethod(r *claims.PayoutRow, method *PayoutMethodRow) bool {
	return method != nil && r.PayoutMethodID != nil && method.ID == *r.PayoutMethodID
}
