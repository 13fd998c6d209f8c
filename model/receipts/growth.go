package receipts

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"parapet/model/claims"
	"parapet/model/internal/rules"
	"parapet/model/kernel/store"
	"parapet/model/receipts/receipt"
)

// completeGrowth adds to a part of a growing claim what its entry in the timeline does not
// have: that the limit cut it, or that other claims for the event owed a part of it. owed is what the determination owes beyond the part before.
func (a *assembly) completeGrowth(part *receipt.Part, owed int64) {
	part.ReasonCodes = slices.DeleteFunc(slices.Clone(part.ReasonCodes), func(code string) bool { return code == rules.ReasonLimitExhausted })
	if part.Amount.Amount < min(owed, part.LimitBefore.Amount) {
		part.OtherClaims = a.otherClaims
	}
	if owed > part.LimitBefore.Amount && part.Amount.Amount == part.LimitBefore.Amount {
		part.ReasonCodes = append(part.ReasonCodes, rules.ReasonLimitExhausted)
	}
}

// otherClaimsQuery finds the approved claims of a policy for the same event as a claim,
// after their occurrences were merged.
const otherClaimsQuery = `select c.id from claims c
		join occurrences o on o.id = c.occurrence_id
		join occurrences own on own.id = ? and coalesce(own.merged_into, own.id) = coalesce(o.merged_into, o.id)
	where c.policy_id = ? and c.partner = ? and c.id <> ? and c.amount is not null order by c.id`

// loadDetermined reads the determinations of decisions and, for a claim that grew, the
// other claims for the event.
func (a *assembly) loadDetermined(ctx context.Context, decisions []decision) error {
	if a.claim.OccurrenceID == nil {
		return nil
	}
	var hashes []string
	for i := range decisions {
		hashes = append(hashes, decisions[i].receiptHash)
	}
	var rows []*claims.DeterminationRow
	err := a.DB.NewSelect().Model(&rows).Where("policy_id = ? and partner = ?", a.claim.PolicyID, a.claim.Partner).Where("receipt_hash in (?)", bun.List(hashes)).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read determinations: %w", err)
	}
	for _, row := range rows {
		a.determinations[row.ReceiptHash] = row
	}
	if !slices.ContainsFunc(decisions, func(d decision) bool { return d.grows }) {
		return nil
	}
	var ids []uuid.UUID
	if err := a.DB.NewRaw(otherClaimsQuery, a.claim.OccurrenceID, a.claim.PolicyID, a.claim.Partner, a.claim.ID).Scan(ctx, &ids); err != nil {
		return fmt.Errorf("read other claims for the event: %w", err)
	}
	for _, id := range ids {
		a.otherClaims = append(a.otherClaims, store.ResourceClaim.FormatID(id))
	}
	return nil
}
