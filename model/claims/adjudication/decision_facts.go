package adjudication

import (
	"time"

	"parapet/model/claims"
	"parapet/model/hazard/trigger"
	"parapet/model/internal/rules"
	"parapet/model/underwriting"
)

// isStageSufficient reports whether the measurement's stage allows the product to decide.
// At a station only final days do.
func isStageSufficient(r *underwriting.PolicyRow, d trigger.Determination) bool {
	return d.Stage == trigger.Final || r.Cover.DecidingStage() == trigger.Preliminary && r.Station == nil
}

// OpensClaim reports whether a determination opens a claim now. A month or dekad with a
// missing day opens a claim that waits for the day.
func OpensClaim(r *underwriting.PolicyRow, d trigger.Determination, now time.Time) bool {
	return (d.Met && d.Amount > 0 || d.Reason == trigger.EvidenceNeeded) && now.Before(r.ReportableUntil)
}

// DecisionFacts returns the facts for the decision rules, from the policy and the result
// of its trigger.
func DecisionFacts(r *underwriting.PolicyRow, d trigger.Determination) rules.Facts {
	return rules.Facts{
		Met: d.Met && d.Amount > 0, Reason: string(d.Reason), Amount: d.Amount,
		Remaining: r.LimitRemaining, Settled: isStageSufficient(r, d), Incomplete: d.Reason == trigger.EvidenceNeeded,
	}
}

// awaitsSource reports whether the claim waits only for the source's final values.
func awaitsSource(r *claims.ClaimRow) bool {
	return r.Status == claims.ClaimDeferred && onlyAwaitsSource(r.ReasonCodes)
}

func onlyAwaitsSource(reasons []string) bool {
	return len(reasons) == 1 && reasons[0] == string(claims.ReasonSourcePreliminary)
}
