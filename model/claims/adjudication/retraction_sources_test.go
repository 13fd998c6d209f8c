package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// retractBy retracts a source's report of reportBy, and runs the jobs.
func retractBy(b *modeltest.Bundle, source string) {
	gone := modeltest.NewRetraction(source + "-1")
	gone.Source = source
	b.Observe(gone)
	b.RunJobs()
}

// observeBy records a source's magnitude of an earthquake under an id and in a stage, and
// runs the jobs.
func observeBy(b *modeltest.Bundle, source, id, magnitude string, at time.Time, stage trigger.Stage) {
	in := modeltest.Quake(id, at, modeltest.Epicentre, magnitude)
	in.Source, in.Stage = source, stage
	b.Observe(in)
	b.RunJobs()
}

// bindForSources binds a policy that three sources decide, and returns the time of an
// earthquake.
func bindForSources(b *modeltest.Bundle, rule, fallback string) (*wire.Policy, time.Time) {
	policy := bindMeasured(b, 1001, rule, fallback)
	b.AdvanceClock(time.Hour)
	return policy, b.Now().Add(-time.Minute)
}

// reportedSources returns the sources and values in a claim's determination.
func reportedSources(claim *wire.Claim) (all []string) {
	for _, s := range claim.Determination.Measurement.Sources {
		all = append(all, s.Source+" "+s.Index.Value)
	}
	return all
}

// The source that reported first retracts its report. The claim waits for the other sources.
func TestRetractionLeavesTheClaimToTheOtherSources(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, at := bindForSources(b, "{kind: first_of}", "next_rank")
	observeBy(b, "usgs", "usgs-1", "6.4", at, trigger.Preliminary)
	reportBy(b, "emsc", "6.6", at, 1)
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	retractBy(b, "usgs")
	require.Equal(t, []string{"source_preliminary"}, b.OnlyClaim(policy).Decision.ReasonCodes)
	require.Equal(t, []string{"emsc 6.6"}, reportedSources(b.OnlyClaim(policy)))
	sweepAt(b, at.Add(24*time.Hour+time.Minute))
	requireClaim(t, b, policy, "approved", "6.6", 5_000_000, "emsc reported in time")
}

// A source retracts its report, and reports the earthquake again under another id, while the
// claim waits for the other sources.
func TestClaimOfARetractedReportIsDecidedByTheNextReportOfItsSource(t *testing.T) {
	t.Parallel()
	for name, split := range map[string]bool{"same event": false, "an operator splits them": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy, at := bindForSources(b, "{kind: first_of}", "operator")
			observeBy(b, "usgs", "usgs-1", "6.4", at, trigger.Preliminary)
			reportBy(b, "emsc", "6.6", at, 1)
			retractBy(b, "usgs")
			b.Observe(modeltest.Quake("usgs-2", at.Add(time.Second), modeltest.Epicentre, "6.4"))
			if split {
				relate(t, b, false, "usgs-1", "usgs-2")
			}
			b.RunJobs()
			claims := b.Claims(policy)
			if split {
				require.Equal(t, []string{"source_preliminary"}, claims[0].Decision.ReasonCodes)
				require.Equal(t, "approved", claims[1].Status)
				return
			}
			require.Equal(t, int64(2_000_000), claims[0].Amount.Amount)
			require.Equal(t, []string{"duplicate_event"}, claims[1].Decision.ReasonCodes)
			require.Equal(t, "declined", claims[1].Status)
		})
	}
}

// No other source meets the trigger when the one that met it retracts its report, in any
// order of the reports.
func TestRetractionDeclinesTheClaimThatNoOtherSourceMeets(t *testing.T) {
	t.Parallel()
	for name, usgsFirst := range map[string]bool{"usgs reports first": true, "emsc reports first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy, at := bindForSources(b, "{kind: first_of}", "operator")
			if !usgsFirst {
				reportBy(b, "emsc", "5.6", at, 1)
			}
			observeBy(b, "usgs", "usgs-1", "6.4", at, trigger.Preliminary)
			if usgsFirst {
				reportBy(b, "emsc", "5.6", at, 1)
			}
			decideClaim(t, b, deferralDecision(b, b.OnlyClaim(policy), claims.ReasonEvidenceNeeded))
			retractBy(b, "usgs")
			claim := b.OnlyClaim(policy)
			require.Equal(t, []string{"source_retracted"}, claim.Decision.ReasonCodes)
			require.Contains(t, summaries(b, claim.ID), "usgs retracted its report of usgs-1.")

			reportBy(b, "emsc", "6.6", at, 2)
			again := b.Claims(policy)[1]
			require.Equal(t, "deferred", again.Status, "emsc meets the trigger now")
			require.Equal(t, "emsc", again.Occurrence.Source)
		})
	}
}

// A report that did not meet the trigger is retracted.
func TestRetractionOfAReportBelowTheThresholdDeclinesNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, at := bindForSources(b, twoAgree, "operator")
	observeBy(b, "jma", "jma-1", "6.4", at, trigger.Preliminary)
	reportBy(b, "usgs", "5.4", at, 1)
	observeBy(b, "jma", "jma-1", "5.5", at, trigger.Preliminary)
	retractBy(b, "usgs")
	require.Equal(t, []string{"source_preliminary"}, b.OnlyClaim(policy).Decision.ReasonCodes, "jma may still report more")
}

// The rule selects a source that owes nothing: it decides, and not the retraction of another.
func TestRetractionLeavesTheDecisionToTheSelectedSource(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, at := bindForSources(b, "{kind: worst_of}", "operator")
	observeBy(b, "usgs", "usgs-1", "6.4", at, trigger.Preliminary)
	reportBy(b, "emsc", "5.6", at, 1)
	reportBy(b, "jma", "6.6", at, 1)
	b.Observe(modeltest.NewRetraction("usgs-1"))
	b.AdvanceClock(24 * time.Hour)
	b.RunJobs()
	require.Equal(t, []string{"threshold_not_met"}, b.OnlyClaim(policy).Decision.ReasonCodes)
}

// The selected source retracts its report; another source was recorded first.
func TestRetractionOfTheSelectedSourceHoldsThePayout(t *testing.T) {
	t.Parallel()
	for name, emsc := range map[string]string{"the other source owes nothing": "5.6", "the other source is not selected": "6.6"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy, at := bindForSources(b, "{kind: first_of}", "operator")
			reportBy(b, "emsc", emsc, at, 1)
			reportBy(b, "usgs", "6.4", at, 1)
			claim := b.OnlyClaim(policy)
			require.Equal(t, "usgs", *claim.Determination.Measurement.SelectedSource)
			retractBy(b, "usgs")
			require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
			require.Contains(t, summaries(b, claim.ID), "usgs retracted its report of usgs-1.")

			reportBy(b, "usgs", "6.7", at, 2)
			requireClaim(t, b, policy, "approved", "6.7", 5_000_000, "usgs reports again")
		})
	}
}

// The selected report is retracted after its occurrence was merged into another one.
func TestRetractionOfAMergedSelectedReportHoldsThePayout(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, at := bindForSources(b, "{kind: first_of}", "operator")
	observeBy(b, "usgs", "usgs-0", "4.0", at.Add(-time.Hour), trigger.Final)
	reportBy(b, "usgs", "6.4", at, 1)
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	joined := modeltest.Quake("usgs-1", at, modeltest.Epicentre, "6.4")
	joined.Aliases, joined.Revision = []string{"usgs-0"}, new(int64(2))
	b.Observe(joined)
	reportBy(b, "emsc", "6.6", at, 1)
	b.Observe(modeltest.NewRetraction("usgs-0"))
	retractBy(b, "usgs")
	require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
}

// After the wait the rule selects another source, which owes no less.
func TestRetractionHoldsNothingThatTheNextSourceOwes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, at := bindForSources(b, "{kind: first_of}", "operator")
	reportBy(b, "usgs", "6.4", at, 1)
	reportBy(b, "emsc", "6.6", at, 1)
	requireClaim(t, b, policy, "approved", "6.4", 2_000_000, "the highest rank")
	b.AdvanceClock(24 * time.Hour)
	retractBy(b, "usgs")
	requireClaim(t, b, policy, "approved", "6.4", 2_000_000, "a retraction adds nothing")
	require.Equal(t, "payout_method_missing", *modeltest.OnlyPayout(t, b, b.OnlyClaim(policy)).BlockedReason)
}

// Another source than the selected one retracts its report, which was recorded first.
func TestRetractionOfAnotherSourceHoldsNothing(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, at := bindForSources(b, "{kind: first_of}", "operator")
	reportBy(b, "jma", "6.6", at, 1)
	reportBy(b, "usgs", "6.4", at, 1)
	claim := b.OnlyClaim(policy)
	require.Equal(t, "usgs", *claim.Determination.Measurement.SelectedSource)
	retractBy(b, "jma")
	require.Equal(t, "payout_method_missing", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	reportBy(b, "usgs", "6.7", at, 2)
	requireClaim(t, b, policy, "approved", "6.7", 5_000_000, "the claim is still for the event")
}

// Of two reports of one source the one that stands counts, also if it is less close.
func TestRetractedReportGivesWayToOneThatStands(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]time.Duration{"later": 5 * time.Second, "earlier": -5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy, at := bindForSources(b, twoAgree, "operator")
			observeBy(b, "emsc", "emsc-1", "5.6", at.Add(time.Second), trigger.Preliminary)
			observeBy(b, "emsc", "emsc-2", "5.6", at.Add(offset), trigger.Preliminary)
			retractBy(b, "emsc")
			reportBy(b, "usgs", "6.4", at, 1)
			require.Equal(t, []string{"usgs 6.4", "emsc 5.6"}, reportedSources(b.OnlyClaim(policy)))
		})
	}
}

// A source reported an earthquake under two ids, and retracts one of them: the other says
// which event it is.
func TestRetractedIDOfAnEarthquakeKeepsItsEvent(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, at := bindForSources(b, twoAgree, "operator")
	reportBy(b, "emsc", "6.4", at, 1)
	observeBy(b, "usgs", "usgs-2", "6.5", at, trigger.Preliminary)
	small := modeltest.Quake("usgs-1", at, modeltest.Epicentre, "4.2")
	small.Stage, small.Aliases = trigger.Preliminary, []string{"usgs-2"}
	b.Observe(small)
	b.RunJobs()
	retractBy(b, "usgs")
	require.Equal(t, []string{"usgs 6.5", "emsc 6.4"}, reportedSources(b.OnlyClaim(policy)))
}
