package adjudication_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/money"
	"parapet/model/wire"
)

const (
	stormOverAfter = 24 * time.Hour
)

func TestStrongerStormPaysDifference(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	part := b.OnlyClaim(policy)
	require.Equal(t, *modeltest.NewUSD(2_000_000), *part.Amount)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	modeltest.ObserveFix(b, "AL01", "140", trigger.Final)

	claim := b.OnlyClaim(policy)
	require.Equal(t, part.Determination.OccurredAt, claim.Occurrence.OccurredAt, "the first fix")
	require.True(t, claim.Determination.OccurredAt.After(claim.Occurrence.OccurredAt), "the stronger segment")
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, *modeltest.NewUSD(10_000_000), *claim.Amount)
	require.Equal(t, "140", claim.Determination.Index.Value)
	require.Len(t, claim.Payouts, 2)
	require.Equal(t, *modeltest.NewUSD(2_000_000), claim.Payouts[0].Amount)
	require.Equal(t, *modeltest.NewUSD(8_000_000), claim.Payouts[1].Amount)
	require.Equal(t, "exhausted", b.Policy(policy.ID).Status)
	require.Equal(t, []string{
		"trigger.observed", "claim.opened", "claim.approved", "payout.created", "payout.blocked",
		"claim.updated", "payout.created", "payout.blocked",
	}, b.TimelineKinds(claim.ID))

	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	require.Equal(t, claim, b.OnlyClaim(policy), "a storm that abates takes nothing back")
}

// TestStrongerStormReopensClosedClaim makes the rail confirm the first part before the
// storm is over.
func TestStrongerStormReopensClosedClaim(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	modeltest.Reconcile(t, b, "monday", modeltest.ReportLine(b, b.OnlyClaim(policy).Payouts[0], "settled"))
	require.Equal(t, "closed", b.OnlyClaim(policy).Status)
	modeltest.ObserveFix(b, "AL01", "140", trigger.Final)
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Nil(t, claim.ClosedAt)
	require.Equal(t, *modeltest.NewUSD(10_000_000), *claim.Amount)
	require.Contains(t, b.TimelineKinds(claim.ID), "claim.reopened")
	modeltest.Reconcile(t, b, "tuesday", modeltest.ReportLine(b, claim.Payouts[1], "settled"))
	require.Equal(t, "closed", b.OnlyClaim(policy).Status)
}

// TestStrongerStormAboveAutomaticLimitNeedsApproval pays two parts of 80,000, each below
// the 100,000 that are paid without an operator.
func TestStrongerStormAboveAutomaticLimitNeedsApproval(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", modeltest.Context{"limit": modeltest.NewUSD(40_000_000)})
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	modeltest.ObserveFix(b, "AL01", "83", trigger.Final)
	claim := b.OnlyClaim(policy)
	require.Equal(t, *modeltest.NewUSD(16_000_000), *claim.Amount)
	require.Equal(t, "released", claim.Payouts[0].Status)
	require.Equal(t, "approval_required", *claim.Payouts[1].BlockedReason)
	states, err := b.Service.Payouts.ApprovalsOf(t.Context(), b.Operator, []string{claim.Payouts[1].ID})
	require.NoError(t, err)
	require.Equal(t, 2, states[claim.Payouts[1].ID].Required)
}

func TestStrongerStormPaysAtMostLimit(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveFix(b, "AL01", "96", trigger.Final) // 60 %
	modeltest.ObserveFix(b, "AL02", "70", trigger.Final) // 20 %
	modeltest.ObserveFix(b, "AL02", "140", trigger.Final)
	modeltest.ObserveFix(b, "AL01", "140", trigger.Final)
	claims := b.Claims(policy)
	require.Len(t, claims, 2)
	require.Equal(t, *modeltest.NewUSD(6_000_000), *claims[0].Amount)
	require.Equal(t, *modeltest.NewUSD(4_000_000), *claims[1].Amount, "what was left")
	require.Zero(t, b.Policy(policy.ID).LimitRemaining.Amount)
}

func TestRepeatedEvaluationIncreasesClaimOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Final)
	b.AdvanceClock(modeltest.FixInterval)
	b.Observe(modeltest.Fix("AL01", b.Now(), modeltest.Miami, "113"))
	job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := b.Service.Adjudication.Evaluate(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, *modeltest.NewUSD(8_000_000), *b.OnlyClaim(policy).Amount)
	require.Len(t, b.OnlyClaim(policy).Payouts, 2)

	before := b.CountRows()
	b.RunJobs() // this runs the second pass
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	require.Equal(t, before, b.CountRows())
}

func TestOngoingStormBelowThresholdIsDeferred(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		goesOn  func(*modeltest.Bundle)
		status  string
		reasons []string
		amount  *money.Money
	}{
		"it grows": {
			func(b *modeltest.Bundle) { modeltest.ObserveFix(b, "AL01", "140", trigger.Final) },
			"approved",
			[]string{"threshold_met"},
			modeltest.NewUSD(10_000_000),
		},
		"it passes": {
			func(b *modeltest.Bundle) {
				b.AdvanceClock(stormOverAfter)
				b.Sweep()
				b.RunJobs()
			},
			"declined",
			[]string{"threshold_not_met"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy := b.QuoteAndBind("cyclone-circle", nil)
			claim := deferClaimBelowThreshold(t, b, policy)

			before := b.CountRows()
			b.Sweep()
			again := occurrence.EvaluateOccurrences{Occurrences: []string{claim.Occurrence.ID}}
			require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), again))
			require.Equal(t, before, b.CountRows(), "nothing is due and nothing is new")

			tc.goesOn(b)
			claim = b.OnlyClaim(policy)
			require.Equal(t, tc.status, claim.Status)
			require.Equal(t, tc.reasons, claim.Decision.ReasonCodes)
			require.Equal(t, tc.amount, claim.Amount)
			require.Nil(t, claim.Decision.NextReviewAt)
		})
	}
}

// deferClaimBelowThreshold is a claim for a storm whose wind was corrected below the threshold
// while the storm goes on.
func deferClaimBelowThreshold(t *testing.T, b *modeltest.Bundle, policy *wire.Policy) *wire.Claim {
	t.Helper()
	fix := modeltest.Fix("AL01", b.Now(), modeltest.Miami, "100")
	fix.Stage = trigger.Preliminary
	b.Observe(fix)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	fix.Stage, fix.Measures = trigger.Final, map[string]wire.Measure{"wind": {Value: "20", Unit: "kn"}}
	b.Observe(fix)
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "deferred", claim.Status)
	require.Equal(t, []string{"source_preliminary"}, claim.Decision.ReasonCodes)
	require.Equal(t, fix.OccurredAt.Add(stormOverAfter), *claim.Decision.NextReviewAt)
	return claim
}
