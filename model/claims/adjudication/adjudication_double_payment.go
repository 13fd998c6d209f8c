package adjudication

import (
	"cmp"
	"context"
	"slices"

	"parapet/model/claims"
	"parapet/model/hazard/trigger"
	"parapet/model/payouts"
	"parapet/model/underwriting"
)

// reportDoublePayment reports double payments when a policy has several approved claims
// for occurrences that became one event. The payout that paid first is correct; every payout
// of the other claims raises an exception, and is held if it was not sent. Each payout is
// reported and held once.
func (adj *adjudication) reportDoublePayment(ctx context.Context, p *underwriting.PolicyRow) error {
	var approved []*claims.ClaimRow
	for _, c := range adj.relatedClaims[p.ID] {
		if adj.isFor(c) && isApproved(c) {
			approved = append(approved, c)
		}
	}
	if approved = adj.withSharedDays(approved); len(approved) < 2 {
		return nil
	}
	slices.SortFunc(approved, func(a, b *claims.ClaimRow) int {
		return cmp.Or(a.DecidedAt.Compare(*b.DecidedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	paying, err := payouts.LockPayingPayouts(ctx, adj.Tx, approved)
	if err != nil {
		return err
	}
	var first *claims.PayoutRow
	for _, c := range approved {
		for _, payout := range paying[c.ID] {
			if first == nil || payout.IsPaidBefore(first) {
				first = payout
			}
		}
	}
	for _, c := range approved {
		for _, payout := range paying[c.ID] {
			if payout.ClaimID == first.ClaimID {
				continue
			}
			if err := payouts.ReportPaidTwice(ctx, adj.Tx, c, payout, first); err != nil {
				return err
			}
		}
	}
	return nil
}

// withSharedDays leaves out claims whose paid days overlap no other claim's: when later
// days join two wet spells, each claim was paid correctly for its own days.
func (adj *adjudication) withSharedDays(approved []*claims.ClaimRow) []*claims.ClaimRow {
	if !adj.occurrence.Kind.IsDaily() {
		return approved
	}
	return slices.DeleteFunc(slices.Clone(approved), func(c *claims.ClaimRow) bool {
		return !slices.ContainsFunc(approved, func(other *claims.ClaimRow) bool {
			return other != c && adj.grantedDays(c).Overlaps(adj.grantedDays(other))
		})
	})
}

// grantedDays returns the days that a claim for the adjudicated occurrence was approved
// for.
func (adj *adjudication) grantedDays(c *claims.ClaimRow) trigger.DayRun {
	det := adj.claimDeterminations[*c.DeterminationID]
	if det.FirstDay == nil {
		return trigger.DayRun{}
	}
	return trigger.DayRun{First: det.FirstDay.UTC(), Last: det.LastDay.UTC()}
}
