package model

import (
	"cmp"
	"context"
	"slices"

	"parapet/model/hazard"
	"parapet/model/trigger"
)

// reportDoublePayment reports double payments when a policy has several approved claims
// for one merged occurrence. The first claim with a payout that paid or may pay is
// correct; every payout of the other claims raises an exception, and is held if it was
// not sent. Each payout is reported and held once.
func (adj *adjudication) reportDoublePayment(ctx context.Context, p *policyRow) error {
	var approved []*claimRow
	for _, c := range adj.relatedClaims[p.ID] {
		if adj.isFor(c) && c.isApproved() {
			approved = append(approved, c)
		}
	}
	if approved = adj.withSharedDays(approved); len(approved) < 2 {
		return nil
	}
	slices.SortFunc(approved, func(a, b *claimRow) int {
		return cmp.Or(a.DecidedAt.Compare(*b.DecidedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	payouts, err := lockPayingPayouts(ctx, adj.Tx, approved)
	if err != nil {
		return err
	}
	var first *payoutRow // of the first claim that paid or may pay
	for _, c := range approved {
		for _, payout := range payouts[c.ID] {
			if first == nil {
				first = payout
			}
			if payout.ClaimID == first.ClaimID {
				continue
			}
			if err := reportPaidTwice(ctx, adj.Tx, c, payout, first); err != nil {
				return err
			}
		}
	}
	return nil
}

// withSharedDays leaves out claims whose paid days overlap no other claim's: when later
// days join two wet spells, each claim was paid correctly for its own days.
func (adj *adjudication) withSharedDays(approved []*claimRow) []*claimRow {
	if adj.occurrence.Kind != hazard.StationDay {
		return approved
	}
	return slices.DeleteFunc(slices.Clone(approved), func(c *claimRow) bool {
		return !slices.ContainsFunc(approved, func(other *claimRow) bool { return other != c && adj.grantedDays(c).Overlaps(adj.grantedDays(other)) })
	})
}

// grantedDays returns the days that a claim for the adjudicated occurrence was approved
// for.
func (adj *adjudication) grantedDays(c *claimRow) trigger.DayRun {
	det := adj.claimDeterminations[*c.DeterminationID]
	if det.FirstDay == nil {
		return trigger.DayRun{}
	}
	return trigger.DayRun{First: det.FirstDay.UTC(), Last: det.LastDay.UTC()}
}
