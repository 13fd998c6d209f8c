package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func resolvePayout(t *testing.T, b *modeltest.Bundle, payout wire.Payout, outcome model.PayoutStatus, reference string, settled bool) (*wire.Payout, error) {
	t.Helper()
	in := model.ResolutionRequest{PayoutID: payout.ID, Outcome: outcome, Reference: reference, Settled: settled, Note: "The bank's letter."}
	return b.Service.ResolvePayout(t.Context(), b.Operator, in)
}

// newPayoutWithAnswer is a payout that the rail answered so.
func newPayoutWithAnswer(t *testing.T, answer model.RailAnswer) (*modeltest.Bundle, *wire.Claim, wire.Payout) {
	t.Helper()
	b := modeltest.New(t)
	claim := owed(b)
	b.Rail.Answer = func(*model.Release) model.RailAnswer { return answer }
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	return b, claim, only(t, b, claim)
}

func TestResolvePayoutReleasesPayoutInDoubt(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	require.Equal(t, "reconciling", payout.Status)
	_, err := resolvePayout(t, b, payout, model.PayoutCancelled, "", false)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	_, err = resolvePayout(t, b, payout, model.PayoutReleased, "", false)
	require.Equal(t, []string{"/reference"}, fieldPointers(domainError(t, err)))
	_, err = resolvePayout(t, b, payout, model.PayoutPending, "", true)
	require.Equal(t, []string{"/outcome", "/settled"}, fieldPointers(domainError(t, err)))
	released, err := resolvePayout(t, b, payout, model.PayoutReleased, "bank-7", false)
	require.NoError(t, err)
	require.Equal(t, "released", released.Status)
	require.Equal(t, "bank-7", *released.ProviderReference)
	_, err = resolvePayout(t, b, payout, model.PayoutReleased, "bank-7", false)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	require.Equal(t, *released, only(t, b, claim))
}

func TestUnpaidPayoutIsSentWithNewKeyAfterUnblock(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	blocked, err := resolvePayout(t, b, payout, model.PayoutBlocked, "", false)
	require.NoError(t, err)
	require.Equal(t, "operator_hold", *blocked.BlockedReason)
	b.Rail.Answer = nil
	_, err = liftHold(t, b, payout)
	require.NoError(t, err)
	b.RunJobs()
	require.Equal(t, "released", only(t, b, claim).Status)
	require.Equal(t, b.RailKey(payout.ID, 2), b.Rail.Orders[1].Key)
}

func TestResolvePayoutWaitsForRunningAttempt(t *testing.T) {
	t.Parallel()
	b, _, payout := newPayoutWithAnswer(t, modeltest.Unknown)
	b.AdvanceClock(time.Minute)
	order, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	require.True(t, order.InDoubt, "the worker asks, and sends it again where nothing is found")
	_, err = resolvePayout(t, b, payout, model.PayoutBlocked, "", false)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	b.AdvanceClock(61 * time.Second) // the worker died
	blocked, err := resolvePayout(t, b, payout, model.PayoutBlocked, "", false)
	require.NoError(t, err)
	require.Equal(t, "operator_hold", *blocked.BlockedReason)
}

func TestCancelledMismatchCreatesReplacementThatNeedsApproval(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Mismatched)
	for _, outcome := range []model.PayoutStatus{model.PayoutReleased, model.PayoutBlocked} {
		reference := map[model.PayoutStatus]string{model.PayoutReleased: "x"}[outcome]
		_, err := resolvePayout(t, b, payout, outcome, reference, false)
		require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	}
	cancelled, err := resolvePayout(t, b, payout, model.PayoutCancelled, "", false)
	require.NoError(t, err)
	require.Equal(t, "cancelled", cancelled.Status)
	payouts := b.Claim(claim.ID).Payouts
	require.Len(t, payouts, 2)
	again := payouts[1]
	require.Equal(t, payout.ID, *again.ReplacesPayoutID)
	require.Equal(t, payout.Amount, again.Amount)
	require.Equal(t, "approval_required", *again.BlockedReason, "whatever the amount")
	b.Rail.Answer = nil
	_, err = approvePayoutAs(t, b, "ann", again)
	require.NoError(t, err)
	b.RunJobs()
	require.Equal(t, "released", b.Claim(claim.ID).Payouts[1].Status)
	require.Equal(t, b.RailKey(again.ID, 2), b.Rail.Orders[1].Key)
}

func TestSettledMismatchClosesClaim(t *testing.T) {
	t.Parallel()
	b, claim, payout := newPayoutWithAnswer(t, modeltest.Mismatched)
	_, err := resolvePayout(t, b, payout, model.PayoutCancelled, "", true)
	require.NoError(t, err)
	require.Equal(t, "cancelled", only(t, b, claim).Status)
	closed := b.Claim(claim.ID)
	require.Equal(t, "closed", closed.Status)
	require.NotNil(t, closed.ClosedAt)
	require.Equal(t, []string{"payout.cancelled", "claim.closed"}, b.TimelineKinds(claim.ID)[len(b.TimelineKinds(claim.ID))-2:])
}
