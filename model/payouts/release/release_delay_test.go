package release_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
)

// inDoubt is a payout whose account is verified, and how to begin and end calls for it.
func inDoubt(t *testing.T) (b *modeltest.Bundle, begin func() *release.Release, end func(*release.Release, payouts.RailAnswer) release.ReleaseResult) {
	t.Helper()
	b = modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := modeltest.OnlyPayout(t, b, claim)
	begin = func() *release.Release {
		order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
		require.NoError(t, err)
		require.NotNil(t, order)
		return order
	}
	end = func(order *release.Release, answer payouts.RailAnswer) release.ReleaseResult {
		ended, err := b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, answer)
		require.NoError(t, err)
		return ended
	}
	return b, begin, end
}

func TestDeadWorkersDoNotLengthenInquiryDelay(t *testing.T) {
	t.Parallel()
	b, begin, end := inDoubt(t)
	for range 6 {
		begin()
		b.AdvanceClock(time.Minute)
	}
	order := begin()
	require.Zero(t, order.UnclearCalls)
	require.Equal(t, 5*time.Second, end(order, modeltest.Unknown).RetryAfter)
	for _, wait := range []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, time.Hour} {
		b.AdvanceClock(time.Hour)
		require.Equal(t, wait, end(begin(), modeltest.Unknown).RetryAfter)
	}
}

func TestInquiryDelayEndsBeforeKeyExpires(t *testing.T) {
	t.Parallel()
	b, begin, end := inDoubt(t)
	answer := modeltest.Unknown
	for _, step := range []struct{ left, wait time.Duration }{
		{time.Hour, 5 * time.Second},
		{50 * time.Second, 25 * time.Second},
		{30 * time.Minute, 2 * time.Minute},
		{10 * time.Minute, 5 * time.Minute},
		{4 * time.Second, 5 * time.Second},
		{0, time.Hour},
	} {
		answer.KeyValidFor = step.left
		require.Equal(t, step.wait, end(begin(), answer).RetryAfter, step.left)
		b.AdvanceClock(time.Hour)
	}
}

func TestUnsentCallsLeaveNoDoubt(t *testing.T) {
	t.Parallel()
	b, begin, end := inDoubt(t)
	nothing := payouts.RailAnswer{Outcome: payouts.OutcomeNotSent, Code: "refused"}
	for _, wait := range []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, time.Minute} {
		order := begin()
		require.False(t, order.InDoubt)
		require.Equal(t, wait, end(order, nothing).RetryAfter)
		early, left, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", order.PayoutID)
		require.NoError(t, err)
		require.Nil(t, early)
		require.LessOrEqual(t, left, wait)
		b.AdvanceClock(wait)
	}
	order := begin()
	end(order, modeltest.Unknown)
	b.AdvanceClock(time.Minute)
	order = begin()
	require.True(t, order.InDoubt)
	require.InDelta(t, time.Minute, order.KeyAge, float64(30*time.Second), "since the call that may have reached the rail")
	end(order, nothing)
	payout, err := b.Service.Claims.GetPayout(t.Context(), b.Acme, order.PayoutID)
	require.NoError(t, err)
	require.Equal(t, "reconciling", payout.Status, "the doubt of before stays")
}

func TestPayoutIsTakenOverWhenTheLeaseHasEnded(t *testing.T) {
	t.Parallel()
	b, begin, _ := inDoubt(t)
	order := begin()
	require.Equal(t, payouts.ReleaseLease, order.Lease)
	_, left, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", order.PayoutID)
	require.NoError(t, err)
	require.Positive(t, left)
	require.LessOrEqual(t, left, order.Lease, "the lease the worker knows is the one that others wait for")
	b.AdvanceClock(left)
	require.Equal(t, 2, begin().Attempt)
}
