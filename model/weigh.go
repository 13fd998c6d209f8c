package model

import (
	"time"

	"parapet/model/internal/adjudicate"
	"parapet/model/trigger"
)

// settles tells whether what a source says is settled enough for the product to
// decide on.
func (r *policyRow) settles(facts trigger.Occurrence) bool {
	return facts.Stage == trigger.Final || r.Cover.Trigger.DecidesOn == trigger.Preliminary
}

// opens tells whether a determination opens a claim now.
func (r *policyRow) opens(d trigger.Determination, now time.Time) bool {
	return d.Met && d.Amount > 0 && now.Before(r.ReportableUntil)
}

// weigh is what the decision needs to know of a policy and what the trigger said.
func (r *policyRow) weigh(facts trigger.Occurrence, d trigger.Determination) adjudicate.Facts {
	return adjudicate.Facts{
		Met: d.Met && d.Amount > 0, Reason: string(d.Reason), Owed: d.Amount,
		Remaining: r.LimitRemaining, Settled: r.settles(facts),
	}
}
