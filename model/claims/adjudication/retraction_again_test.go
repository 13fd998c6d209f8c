package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// retractFix retracts a fix of a storm, and runs the jobs.
func retractFix(b *modeltest.Bundle, fix wire.ObservationInput, revision int64) {
	fix.Stage, fix.Measures, fix.Location, fix.Revision = trigger.Retracted, nil, nil, &revision
	b.Observe(fix)
	b.RunJobs()
}

// observeGrowingStorm binds a policy, and reports two fixes of a storm that each owe more
// than the one before.
func observeGrowingStorm(b *modeltest.Bundle) (policy *wire.Policy, weak, strong wire.ObservationInput) {
	policy = b.QuoteAndBind("cyclone-circle", nil)
	at := b.Now()
	b.AdvanceClock(6 * modeltest.FixInterval)
	weak, strong = modeltest.Fix("AL01", at, modeltest.Miami, "70"), modeltest.Fix("AL01", at.Add(time.Hour), modeltest.Miami, "100")
	b.Observe(weak, strong)
	b.RunJobs()
	return policy, weak, strong
}

// An operator lifts the hold of one retraction; another reading is retracted afterwards.
func TestSecondRetractionHoldsAgain(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, weak, strong := observeGrowingStorm(b)
	claim := b.OnlyClaim(policy)
	require.Equal(t, int64(6_000_000), claim.Amount.Amount)
	blocked := func() string { return *modeltest.OnlyPayout(t, b, claim).BlockedReason }
	retractFix(b, strong, 1)
	require.Equal(t, "compliance_hold", blocked())
	modeltest.Must(modeltest.LiftHold(t, b, modeltest.OnlyPayout(t, b, claim)))
	retractFix(b, strong, 2)
	require.Equal(t, "payout_method_missing", blocked(), "nothing else was retracted")

	retractFix(b, weak, 1)
	require.Equal(t, "compliance_hold", blocked(), "the whole storm is retracted now")
	modeltest.Must(modeltest.LiftHold(t, b, modeltest.OnlyPayout(t, b, claim)))
	retractFix(b, weak, 2)
	require.Equal(t, "payout_method_missing", blocked(), "nothing more can be retracted")
}

// Version 1 of the trigger paid for storms of any basin. What it approved is held when its
// readings are retracted.
func TestRetractionHoldsTheClaimOfAStormOfAnotherBasin(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithoutChecks())
	policy, _, strong := observeGrowingStorm(b)
	claim := b.OnlyClaim(policy)
	modeltest.ExecSQL(t, b, "update occurrences set source_event_id = 'EP012027'")
	retractFix(b, strong, 1)
	require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
}

// An operator lifts the hold of two retractions.
func TestHoldOfTwoRetractionsIsLiftedOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, weak, strong := observeGrowingStorm(b)
	claim := b.OnlyClaim(policy)
	retractFix(b, strong, 1)
	retractFix(b, weak, 1)
	modeltest.Must(modeltest.LiftHold(t, b, modeltest.OnlyPayout(t, b, claim)))
	retractFix(b, weak, 2)
	require.Equal(t, "payout_method_missing", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
}

// The timeline of an older release does not say what was left.
func TestLiftedHoldWithoutAnAmountStaysLifted(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, weak, strong := observeGrowingStorm(b)
	claim := b.OnlyClaim(policy)
	retractFix(b, strong, 1)
	modeltest.Must(modeltest.LiftHold(t, b, modeltest.OnlyPayout(t, b, claim)))
	_, err := b.DB.Pool.Exec(t.Context(), "update timeline_entries set data = data::jsonb - 'amount' where data->>'stage' = 'retracted'")
	require.NoError(t, err)
	retractFix(b, weak, 1)
	require.Equal(t, "payout_method_missing", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
}
