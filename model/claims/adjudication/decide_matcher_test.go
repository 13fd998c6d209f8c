package adjudication_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard/occurrence"
	"parapet/model/hazard/trigger"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestClaimDeferredByOperatorWaitsForOperator(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	held := decideClaim(t, b, deferralDecision(b, b.OnlyClaim(policy), claims.ReasonComplianceHold))
	require.Equal(t, "deferred", held.Status)
	require.Equal(t, "claim.updated", b.TimelineKinds(held.ID)[3], "it waits as before, for another reason")
	b.AdvanceClock(2 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, held, b.OnlyClaim(policy), "an operator does the due review")

	modeltest.ReportFinal(b, report, "6.6")
	claim := b.OnlyClaim(policy)
	require.Equal(t, "deferred", claim.Status)
	require.Equal(t, held.Decision, claim.Decision)
	require.Equal(t, "6.6", claim.Determination.Index.Value, "the operator sees the source's values")
	require.Equal(t, "final", claim.Determination.Stage)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, claim, b.OnlyClaim(policy))

	claim = decideClaim(t, b, approvalDecision(claim))
	require.Equal(t, *modeltest.NewUSD(5_000_000), *claim.Amount, "by the final value")
	b.RunJobs()
	require.Equal(t, claim, b.OnlyClaim(policy))
	require.Equal(t, *modeltest.NewUSD(5_000_000), b.Policy(policy.ID).LimitRemaining)
}

func TestOperatorMayDeferToFinalSourceData(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	decideClaim(t, b, deferralDecision(b, b.OnlyClaim(policy), claims.ReasonComplianceHold))
	modeltest.ReportFinal(b, report, "6.6")
	back := decideClaim(t, b, deferralDecision(b, b.OnlyClaim(policy), claims.ReasonSourcePreliminary))
	b.Sweep()
	b.RunJobs()
	require.Equal(t, back, b.OnlyClaim(policy), "not before the review is due")
	b.AdvanceClock(2 * time.Hour)
	b.Sweep()
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status)
	require.Equal(t, []string{"threshold_met"}, claim.Decision.ReasonCodes)
	require.Equal(t, *modeltest.NewUSD(5_000_000), *claim.Amount)
}

func TestClaimWithNothingOwedCannotBeApproved(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	claim := decideClaim(t, b, deferralDecision(b, b.OnlyClaim(policy), claims.ReasonEvidenceNeeded))
	modeltest.ReportFinal(b, report, "5.9")
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
	require.Equal(t, apperr.CodeTriggerNotMet, decisionErrorCode(t, b, approvalDecision(claim)))
	declined := decideClaim(t, b, adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimDeclined, ReasonCodes: []claims.ReasonCode{claims.ReasonThresholdNotMet}})
	require.Equal(t, "declined", declined.Status)
	modeltest.ReportFinal(b, report, "7.4")
	require.Equal(t, declined, b.OnlyClaim(policy), "a claim that an operator declined stays declined")
	require.Equal(t, policy.Limit, b.Policy(policy.ID).LimitRemaining)
}

func TestFinalRevisionDoesNotUndoApproval(t *testing.T) {
	t.Parallel()
	for _, magnitude := range []string{"5.0", "6.4", "7.4"} {
		t.Run(magnitude, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy := b.QuoteAndBind("quake-circle", nil)
			report := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
			claim := decideClaim(t, b, approvalDecision(b.OnlyClaim(policy)))
			require.Equal(t, *modeltest.NewUSD(2_000_000), *claim.Amount)
			modeltest.ReportFinal(b, report, magnitude)
			b.AdvanceClock(48 * time.Hour)
			b.Sweep()
			b.RunJobs()
			if magnitude == "7.4" {
				require.Equal(t, policy.Limit, *b.OnlyClaim(policy).Amount, "a revision of the source adds a part")
				require.Len(t, b.OnlyClaim(policy).Payouts, 2)
				return
			}
			require.Equal(t, claim, b.OnlyClaim(policy))
			require.Len(t, claim.Payouts, 1)
		})
	}
}

func TestStormClaimApprovedByOperatorStillIncreases(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("cyclone-circle", nil)
	modeltest.ObserveFix(b, "AL01", "70", trigger.Preliminary)
	claim := decideClaim(t, b, approvalDecision(b.OnlyClaim(policy)))
	require.Equal(t, *modeltest.NewUSD(2_000_000), *claim.Amount)
	first := modeltest.Fix("AL01", b.Now(), modeltest.Miami, "70")
	first.OccurredAt = claim.Occurrence.OccurredAt
	modeltest.ObserveFix(b, "AL01", "140", trigger.Final)
	require.Equal(t, claim, b.OnlyClaim(policy), "its first fix is still preliminary")
	b.Observe(first)
	b.RunJobs()
	grown := b.OnlyClaim(policy)
	require.Equal(t, *modeltest.NewUSD(10_000_000), *grown.Amount)
	require.Equal(t, *modeltest.NewUSD(8_000_000), grown.Payouts[1].Amount, "the remaining amount, once")
	require.Len(t, grown.Payouts, 2)
	require.Equal(t, []string{"operator_decision"}, grown.Decision.ReasonCodes)
	b.AdvanceClock(stormOverAfter)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, grown, b.OnlyClaim(policy))
}

func TestWithdrawnClaimIsFinal(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	waiting := b.OnlyClaim(policy)
	claim, err := b.Service.Adjudication.Withdraw(t.Context(), b.Operator, adjudication.WithdrawalRequest{ClaimID: waiting.ID})
	require.NoError(t, err)
	require.Equal(t, "withdrawn", claim.Status)
	require.Nil(t, claim.Decision.NextReviewAt)
	require.Equal(t, []string{"trigger.observed", "claim.opened", "claim.deferred", "claim.withdrawn"}, b.TimelineKinds(claim.ID))
	modeltest.ReportFinal(b, report, "7.4")
	b.AdvanceClock(48 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.NotNil(t, claim.MeasurementState)
	claim.MeasurementState = nil // it is computed when a claim is read, and not stored
	require.Equal(t, claim, b.OnlyClaim(policy))
	again, created, err := b.Service.Adjudication.Open(t.Context(), b.Acme, modeltest.NewSourceEventClaim(policy, "usgs", "us1"))
	require.NoError(t, err)
	require.False(t, created)
	require.NotNil(t, again.MeasurementState)
	again.MeasurementState = nil
	require.Equal(t, claim, again)
	require.Equal(t, apperr.CodeStateConflict, decisionErrorCode(t, b, approvalDecision(claim)))
	_, err = b.Service.Adjudication.Withdraw(t.Context(), b.Operator, adjudication.WithdrawalRequest{ClaimID: claim.ID})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
}

func TestOccurrenceIsPaidOnceByMatcherAndOperator(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	waiting := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	held := decideClaim(t, b, deferralDecision(b, b.OnlyClaim(policy), claims.ReasonEvidenceNeeded))
	modeltest.ObserveQuake(b, "tw1", "6.4", trigger.Final)
	require.Equal(t, "approved", b.Claims(policy)[1].Status)

	waiting.Aliases = []string{"tw1"}
	b.Observe(waiting)
	b.RunJobs()
	require.Equal(t, "deferred", b.Claim(held.ID).Status)
	require.Equal(t, apperr.CodeStateConflict, decisionErrorCode(t, b, approvalDecision(held)))
	require.Equal(t, *modeltest.NewUSD(8_000_000), b.Policy(policy.ID).LimitRemaining)
}

func TestConcurrentOperatorsDecideOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithConnections(12))
	policy := b.QuoteAndBind("quake-circle", nil)
	claim := modeltest.OpenApprovalClaim(t, b, policy, modeltest.NewUSD(125_000))
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 24 {
		in := approvalDecision(claim)
		if i%2 == 1 {
			in = adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimDeclined}
		}
		all.Go(func() {
			_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, in)
			if err == nil {
				won.Add(1)
			} else if apperr.CodeOf(err) != apperr.CodeStateConflict {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(1), won.Load())
	done, err := b.Service.Audit.ListOperatorActions(t.Context(), b.Operator, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, done.Data, 1)
	require.Len(t, b.Claim(claim.ID).Payouts, map[string]int{"approved": 1}[b.Claim(claim.ID).Status])
}

func TestDecisionOnStaleVersionFails(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	read := b.OnlyClaim(policy)
	report.Measures = map[string]wire.Measure{"magnitude": {Value: "7.4", Unit: "mw"}}
	b.Observe(report)
	b.RunJobs()
	operator := b.Operator
	operator.Precondition = actor.RequireVersion(read.ID, read.Version)
	_, err := b.Service.Adjudication.Decide(t.Context(), operator, approvalDecision(read))
	require.Equal(t, apperr.CodeVersionMismatch, modeltest.DomainError(t, err).Code)
	operator.Precondition = actor.RequireVersion(read.ID, b.OnlyClaim(policy).Version)
	_, err = b.Service.Adjudication.Decide(t.Context(), operator, approvalDecision(read))
	require.NoError(t, err)
}

func TestConcurrentOperatorAndMatcherDecideOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithConnections(12))
	policy := b.QuoteAndBind("quake-circle", nil)
	report := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	claim := b.OnlyClaim(policy)
	report.Stage = trigger.Final
	b.Observe(report)
	job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if err := b.Service.Adjudication.Evaluate(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, approvalDecision(claim))
			if err != nil && apperr.CodeOf(err) != apperr.CodeStateConflict {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b.RunJobs()
	require.Len(t, b.OnlyClaim(policy).Payouts, 1)
	require.Equal(t, *modeltest.NewUSD(8_000_000), b.Policy(policy.ID).LimitRemaining)
}
