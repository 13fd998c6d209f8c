package payouts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

func TestResolvePayoutReleasesPayoutInDoubt(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	require.Equal(t, "reconciling", payout.Status)
	_, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutCancelled, "", false)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	_, err = modeltest.ResolvePayout(t, b, payout, claims.PayoutReleased, "", false)
	require.Equal(t, []string{"/reference"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	_, err = modeltest.ResolvePayout(t, b, payout, claims.PayoutPending, "", true)
	require.Equal(t, []string{"/outcome", "/settled"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	released, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutReleased, "bank-7", false)
	require.NoError(t, err)
	require.Equal(t, "released", released.Status)
	require.Equal(t, "bank-7", *released.ProviderReference)
	_, err = modeltest.ResolvePayout(t, b, payout, claims.PayoutReleased, "bank-7", false)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	require.Equal(t, *released, modeltest.OnlyPayout(t, b, claim))
}

func TestUnpaidPayoutIsSentWithNewKeyAfterUnblock(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	blocked, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutBlocked, "", false)
	require.NoError(t, err)
	require.Equal(t, "operator_hold", *blocked.BlockedReason)
	b.Rail.Answer = nil
	_, err = modeltest.LiftHold(t, b, payout)
	require.NoError(t, err)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, b.RailKey(payout.ID, 2), b.Rail.Orders[1].Key)
}

func TestResolvePayoutWaitsForRunningAttempt(t *testing.T) {
	t.Parallel()
	b, _, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Unknown)
	b.AdvanceClock(time.Minute)
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	require.True(t, order.InDoubt, "the worker asks, and sends it again where nothing is found")
	_, err = modeltest.ResolvePayout(t, b, payout, claims.PayoutBlocked, "", false)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	b.AdvanceClock(61 * time.Second) // the worker died
	blocked, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutBlocked, "", false)
	require.NoError(t, err)
	require.Equal(t, "operator_hold", *blocked.BlockedReason)
}

func TestCancelledMismatchCreatesReplacementThatNeedsApproval(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
	for _, outcome := range []claims.PayoutStatus{claims.PayoutReleased, claims.PayoutBlocked} {
		reference := map[claims.PayoutStatus]string{claims.PayoutReleased: "x"}[outcome]
		_, err := modeltest.ResolvePayout(t, b, payout, outcome, reference, false)
		require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	}
	cancelled, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutCancelled, "", false)
	require.NoError(t, err)
	require.Equal(t, "cancelled", cancelled.Status)
	payouts := b.Claim(claim.ID).Payouts
	require.Len(t, payouts, 2)
	again := payouts[1]
	require.Equal(t, payout.ID, *again.ReplacesPayoutID)
	require.Equal(t, payout.Amount, again.Amount)
	require.Equal(t, "approval_required", *again.BlockedReason, "whatever the amount")
	b.Rail.Answer = nil
	_, err = modeltest.ApprovePayoutAs(t, b, "ann", again)
	require.NoError(t, err)
	b.RunJobs()
	require.Equal(t, "released", b.Claim(claim.ID).Payouts[1].Status)
	require.Equal(t, b.RailKey(again.ID, 2), b.Rail.Orders[1].Key)
}

func TestSettledMismatchClosesClaim(t *testing.T) {
	t.Parallel()
	b, claim, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
	_, err := modeltest.ResolvePayout(t, b, payout, claims.PayoutCancelled, "", true)
	require.NoError(t, err)
	require.Equal(t, "cancelled", modeltest.OnlyPayout(t, b, claim).Status)
	closed := b.Claim(claim.ID)
	require.Equal(t, "closed", closed.Status)
	require.NotNil(t, closed.ClosedAt)
	require.Equal(t, []string{"payout.cancelled", "claim.closed"}, b.TimelineKinds(claim.ID)[len(b.TimelineKinds(claim.ID))-2:])
}
