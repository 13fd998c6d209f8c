package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/wire"
)

// farFromHualien is outside of the insured circles, and less than 100 km from the epicentre.
var farFromHualien = hazard.Point{Latitude: 25.02, Longitude: 121.653}

// requireSecondPayoutHeld checks that the second of two approved claims is reported as a
// double payment, and that its payout is held.
func requireSecondPayoutHeld(t *testing.T, b *modeltest.Bundle, policy *wire.Policy) {
	t.Helper()
	claims := b.Claims(policy)
	require.Len(t, claims, 2)
	require.Equal(t, []string{"approved", "approved"}, []string{claims[0].Status, claims[1].Status})
	first, second := modeltest.OnlyPayout(t, b, claims[0]), modeltest.OnlyPayout(t, b, claims[1])
	exceptions := modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, exceptions, 1)
	require.Equal(t, payouts.ExceptionPaidTwice, exceptions[0].Kind)
	require.Equal(t, []string{second.ID, first.ID}, []string{*exceptions[0].PayoutID, *exceptions[0].RelatedPayoutID})
	require.Equal(t, "compliance_hold", *second.BlockedReason)
	require.NotEqual(t, "compliance_hold", *first.BlockedReason)
}

// observeTwoQuakes observes two earthquakes that approve a claim each.
func observeTwoQuakes(b *modeltest.Bundle) (policy *wire.Policy, quakes [2]wire.ObservationInput) {
	policy = b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.AdvanceClock(10 * time.Minute)
	for i, id := range []string{"us1", "us2"} {
		quakes[i] = modeltest.Quake(id, at.Add(time.Duration(i)*2*time.Minute), modeltest.Epicentre, "6.4")
		b.Observe(quakes[i])
		b.RunJobs()
	}
	return policy, quakes
}

func TestOperatorMergeHoldsTheSecondOfTwoPayouts(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, _ := observeTwoQuakes(b)
	relate(t, b, true, "us1", "us2")
	requireSecondPayoutHeld(t, b, policy)
}

// The storm grows after an operator merged two: it owes the larger amount once.
func TestStormsMergedByOperatorOweTheirAmountOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	at := b.Now()
	b.AdvanceClock(6 * modeltest.FixInterval)
	b.Observe(modeltest.Fix("AL01", at, modeltest.Miami, "70"), modeltest.Fix("AL02", at, modeltest.Miami, "70"))
	b.RunJobs()
	require.Equal(t, *modeltest.NewUSD(6_000_000), b.Policy(policy.ID).LimitRemaining)
	relate(t, b, true, "AL01", "AL02")
	b.Observe(modeltest.Fix("AL01", at.Add(time.Hour), modeltest.Miami, "84"))
	b.RunJobs()
	require.Equal(t, *modeltest.NewUSD(6_000_000), b.Policy(policy.ID).LimitRemaining, "40 % of the limit was approved")
	b.Observe(modeltest.Fix("AL02", at.Add(time.Hour), modeltest.Miami, "100"))
	b.RunJobs()
	require.Equal(t, *modeltest.NewUSD(4_000_000), b.Policy(policy.ID).LimitRemaining)
}

// Only the payout of the claim that was approved later was sent.
func TestUnsentPayoutOfTheEarlierClaimIsHeld(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, _ := observeTwoQuakes(b)
	claims := b.Claims(policy)
	b.RecordPayoutMethod(modeltest.IBANMethod(claims[1].ID))
	b.RunJobs()
	relate(t, b, true, "us1", "us2")
	exceptions := modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, exceptions, 1)
	unsent, released := modeltest.OnlyPayout(t, b, claims[0]), modeltest.OnlyPayout(t, b, claims[1])
	require.Equal(t, []string{unsent.ID, released.ID}, []string{*exceptions[0].PayoutID, *exceptions[0].RelatedPayoutID})
	require.Equal(t, "released", released.Status)
	require.Equal(t, "compliance_hold", *unsent.BlockedReason)
}

// A revision moved both earthquakes away from the insured place after the approvals.
func TestOperatorMergeHoldsTheSecondPayoutOutsideOfThePlace(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, quakes := observeTwoQuakes(b)
	for _, quake := range quakes {
		quake.Location = &farFromHualien
		b.Observe(quake)
	}
	b.RunJobs()
	relate(t, b, true, "us1", "us2")
	requireSecondPayoutHeld(t, b, policy)
}

// An operator merges an earthquake below the threshold with the second of two, and the source
// merges it into the first.
func TestMergeBySourceAfterOneByOperatorHoldsTheSecondPayout(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, quakes := observeTwoQuakes(b)
	b.Observe(modeltest.Quake("us3", b.Now(), modeltest.Epicentre, "5.0"))
	b.RunJobs()
	relate(t, b, true, "us3", "us2")
	require.Empty(t, modeltest.OpenExceptions(t, b))
	quakes[0].Aliases = []string{"us3"}
	b.Observe(quakes[0])
	b.RunJobs()
	requireSecondPayoutHeld(t, b, policy)
}

// An operator merges the preliminary id of an earthquake with its final one: the final values
// decide. Then the source makes the preliminary id final with a lower magnitude, or never.
func TestOperatorMergeOfPreliminaryAndFinalQuakesPaysOnce(t *testing.T) {
	t.Parallel()
	for name, lower := range map[string]bool{"revised": true, "silent": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy := observeDuplicates(b)
			relate(t, b, true, "us1", "us2")
			if lower {
				modeltest.ObserveQuake(b, "us1", "5.0", trigger.Final)
			}
			for range 20 {
				sweepAt(b, b.Now().Add(14*24*time.Hour))
			}
			claims := b.Claims(policy)
			require.Equal(t, []string{"approved", "declined"}, []string{claims[0].Status, claims[1].Status})
			require.Equal(t, []string{"duplicate_event"}, claims[1].Decision.ReasonCodes)
			require.Equal(t, *modeltest.NewUSD(8_000_000), b.Policy(policy.ID).LimitRemaining)
		})
	}
}

// bindTwoReports approves a claim each for two sources' reports of an earthquake, which are
// too far apart in time to be one event.
func bindTwoReports(t *testing.T) (b *modeltest.Bundle, policy *wire.Policy, at time.Time) {
	t.Helper()
	b = modeltest.New(t)
	policy = bindMeasured(b, 1001, "{kind: first_of}", "next_rank")
	b.AdvanceClock(time.Hour)
	at = b.Now().Add(-10 * time.Minute)
	reportBy(b, "usgs", "6.4", at, 1)
	reportBy(b, "emsc", "6.6", at.Add(5*time.Minute), 1)
	sweepAt(b, at.Add(25*time.Hour))
	require.Len(t, b.Claims(policy), 2)
	return b, policy, at
}

// A revision makes the reports of two sources one event after both approved a claim.
func TestRevisionThatJoinsTwoReportsHoldsTheSecondPayout(t *testing.T) {
	t.Parallel()
	b, policy, at := bindTwoReports(t)
	reportBy(b, "emsc", "6.6", at, 2)
	requireSecondPayoutHeld(t, b, policy)
	reportBy(b, "emsc", "7.5", at, 3)
	require.Equal(t, *modeltest.NewUSD(3_000_000), b.Policy(policy.ID).LimitRemaining, "the report that was selected first stays selected")
}

// Both payouts are confirmed before the revision.
func TestRevisionThatJoinsTwoPaidReportsRaisesAnException(t *testing.T) {
	t.Parallel()
	b, policy, at := bindTwoReports(t)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	claims := b.Claims(policy)
	modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, claims[0].Payouts[0], "settled"), modeltest.ReportLine(b, claims[1].Payouts[0], "settled"))
	require.Equal(t, "closed", b.Claims(policy)[1].Status)
	reportBy(b, "emsc", "6.6", at, 2)
	require.Equal(t, []string{payouts.ExceptionPaidTwice}, modeltest.OpenExceptions(t, b))
}

// The revision also moves the earthquake away from the insured place.
func TestRevisionOutOfThePlaceThatJoinsTwoReportsHoldsTheSecondPayout(t *testing.T) {
	t.Parallel()
	b, policy, at := bindTwoReports(t)
	revised := modeltest.Quake("emsc-1", at, farFromHualien, "6.6")
	revised.Source, revised.Revision = "emsc", new(int64(2))
	b.Observe(revised)
	b.RunJobs()
	requireSecondPayoutHeld(t, b, policy)
}

// A source merged its report with an older one, of which it has the id now.
func TestRevisionThatJoinsAMergedReportHoldsTheSecondPayout(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"usgs", "emsc"} {
		t.Run(source+" revises", func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy := bindMeasured(b, 1001, "{kind: first_of}", "next_rank")
			b.AdvanceClock(time.Hour)
			at := b.Now().Add(-10 * time.Minute)
			b.Observe(modeltest.Quake("usgs-0", at.Add(-2*time.Minute), modeltest.Epicentre, "5.0"))
			reportBy(b, "usgs", "6.4", at, 1)
			reportBy(b, "emsc", "6.6", at.Add(5*time.Minute), 1)
			sweepAt(b, at.Add(25*time.Hour))
			merged := modeltest.Quake("usgs-1", at, modeltest.Epicentre, "6.4")
			merged.Aliases, merged.Revision = []string{"usgs-0"}, new(int64(2))
			b.Observe(merged)
			b.RunJobs()
			require.Empty(t, modeltest.OpenExceptions(t, b))
			reportBy(b, source, "6.4", at.Add(map[string]time.Duration{"usgs": 5 * time.Minute}[source]), 3)
			requireSecondPayoutHeld(t, b, policy)
		})
	}
}
