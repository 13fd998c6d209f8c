package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
)

// inDoubt is a payout whose account is verified, and how to begin and end calls for it.
func inDoubt(t *testing.T) (b *modeltest.Bundle, begin func() *model.Release, end func(*model.Release, model.RailAnswer) model.ReleaseResult) {
	t.Helper()
	b = modeltest.New(t)
	claim := owed(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := only(t, b, claim)
	begin = func() *model.Release {
		order, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
		require.NoError(t, err)
		require.NotNil(t, order)
		return order
	}
	end = func(order *model.Release, answer model.RailAnswer) model.ReleaseResult {
		ended, err := b.Service.EndRelease(t.Context(), modeltest.RailName, order, answer)
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
	nothing := model.RailAnswer{Outcome: model.OutcomeNotSent, Code: "refused"}
	for _, wait := range []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, time.Minute} {
		order := begin()
		require.False(t, order.InDoubt)
		require.Equal(t, wait, end(order, nothing).RetryAfter)
		early, left, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", order.PayoutID)
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
	payout, err := b.Service.GetPayout(t.Context(), b.Acme, order.PayoutID)
	require.NoError(t, err)
	require.Equal(t, "reconciling", payout.Status, "the doubt of before stays")
}

func TestPayoutIsTakenOverWhenTheLeaseHasEnded(t *testing.T) {
	t.Parallel()
	b, begin, _ := inDoubt(t)
	order := begin()
	require.Equal(t, model.ReleaseLease, order.Lease)
	_, left, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", order.PayoutID)
	require.NoError(t, err)
	require.Positive(t, left)
	require.LessOrEqual(t, left, order.Lease, "the lease the worker knows is the one that others wait for")
	b.AdvanceClock(left)
	require.Equal(t, 2, begin().Attempt)
}
