package model

import (
	"time"

	"parapet/model/internal/adjudicate"
	"parapet/model/trigger"
)

// isStageSufficient reports whether the measurement's stage allows the product to decide.
// At a station only final days do.
func (r *policyRow) isStageSufficient(d trigger.Determination) bool {
	return d.Stage == trigger.Final || r.Cover.Trigger.DecidesOn == trigger.Preliminary && r.Station == nil
}

// opensClaim reports whether a determination opens a claim now. A month or dekad with a
// missing day opens a claim that waits for the day.
func (r *policyRow) opensClaim(d trigger.Determination, now time.Time) bool {
	return (d.Met && d.Amount > 0 || d.Reason == trigger.EvidenceNeeded) && now.Before(r.ReportableUntil)
}

// decisionFacts returns the facts for the decision rules, from the policy and the result
// of its trigger.
func (r *policyRow) decisionFacts(d trigger.Determination) adjudicate.Facts {
	return adjudicate.Facts{
		Met: d.Met && d.Amount > 0, Reason: string(d.Reason), Amount: d.Amount,
		Remaining: r.LimitRemaining, Settled: r.isStageSufficient(d), Incomplete: d.Reason == trigger.EvidenceNeeded,
	}
}

// awaitsSource reports whether the claim waits only for the source's final values.
func (r *claimRow) awaitsSource() bool {
	return r.Status == ClaimDeferred && onlyAwaitsSource(r.ReasonCodes)
}

func onlyAwaitsSource(reasons []string) bool {
	return len(reasons) == 1 && reasons[0] == string(ReasonSourcePreliminary)
}
