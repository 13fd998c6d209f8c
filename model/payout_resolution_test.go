package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func resolve(t *testing.T, b *modeltest.Bundle, payout wire.Payout, outcome model.PayoutStatus, reference string, settled bool) (*wire.Payout, error) {
	t.Helper()
	in := model.ResolutionRequest{PayoutID: payout.ID, Outcome: outcome, Reference: reference, Settled: settled, Note: "The bank's letter."}
	return b.Service.ResolvePayout(t.Context(), b.Operator, in)
}

// ending is a payout that the rail answered so.
func ending(t *testing.T, answer model.RailAnswer) (*modeltest.Bundle, *wire.Claim, wire.Payout) {
	t.Helper()
	b := modeltest.New(t)
	claim := owed(b)
	b.Rail.Answer = func(*model.Release) model.RailAnswer { return answer }
	b.Record(modeltest.IBAN(claim.ID))
	b.Work()
	return b, claim, only(t, b, claim)
}

func TestADoubtEndsByEvidence(t *testing.T) {
	t.Parallel()
	b, claim, payout := ending(t, modeltest.Unknown)
	require.Equal(t, "reconciling", payout.Status)
	_, err := resolve(t, b, payout, model.PayoutCancelled, "", false)
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
	_, err = resolve(t, b, payout, model.PayoutReleased, "", false)
	require.Equal(t, []string{"/reference"}, pointers(failure(t, err)))
	_, err = resolve(t, b, payout, model.PayoutPending, "", true)
	require.Equal(t, []string{"/outcome", "/settled"}, pointers(failure(t, err)))
	released, err := resolve(t, b, payout, model.PayoutReleased, "bank-7", false)
	require.NoError(t, err)
	require.Equal(t, "released", released.Status)
	require.Equal(t, "bank-7", *released.ProviderReference)
	_, err = resolve(t, b, payout, model.PayoutReleased, "bank-7", false)
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
	require.Equal(t, *released, only(t, b, claim))
}

func TestWhatWasNotPaidGoesOutUnderAnotherKeyWhenItIsFreed(t *testing.T) {
	t.Parallel()
	b, claim, payout := ending(t, modeltest.Unknown)
	blocked, err := resolve(t, b, payout, model.PayoutBlocked, "", false)
	require.NoError(t, err)
	require.Equal(t, "operator_hold", *blocked.BlockedReason)
	b.Rail.Answer = nil
	_, err = lift(t, b, payout)
	require.NoError(t, err)
	b.Work()
	require.Equal(t, "released", only(t, b, claim).Status)
	require.Equal(t, b.RailKey(payout.ID, 2), b.Rail.Orders[1].Key)
}

func TestNoKeyEndsWhileAWorkerHasIt(t *testing.T) {
	t.Parallel()
	b, _, payout := ending(t, modeltest.Unknown)
	b.After(time.Minute)
	order, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	require.True(t, order.Doubt, "the worker asks, and sends it again where nothing is found")
	_, err = resolve(t, b, payout, model.PayoutBlocked, "", false)
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
	b.After(61 * time.Second) // the worker died
	blocked, err := resolve(t, b, payout, model.PayoutBlocked, "", false)
	require.NoError(t, err)
	require.Equal(t, "operator_hold", *blocked.BlockedReason)
}

func TestAMismatchIsCancelledAndPaidAgainByApproval(t *testing.T) {
	t.Parallel()
	b, claim, payout := ending(t, modeltest.Mismatched)
	for _, outcome := range []model.PayoutStatus{model.PayoutReleased, model.PayoutBlocked} {
		reference := map[model.PayoutStatus]string{model.PayoutReleased: "x"}[outcome]
		_, err := resolve(t, b, payout, outcome, reference, false)
		require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
	}
	cancelled, err := resolve(t, b, payout, model.PayoutCancelled, "", false)
	require.NoError(t, err)
	require.Equal(t, "cancelled", cancelled.Status)
	payouts := b.Claim(claim.ID).Payouts
	require.Len(t, payouts, 2)
	again := payouts[1]
	require.Equal(t, payout.ID, *again.ReplacesPayoutID)
	require.Equal(t, payout.Amount, again.Amount)
	require.Equal(t, "approval_required", *again.BlockedReason, "whatever the amount")
	b.Rail.Answer = nil
	_, err = approve(t, b, "ann", again)
	require.NoError(t, err)
	b.Work()
	require.Equal(t, "released", b.Claim(claim.ID).Payouts[1].Status)
	require.Equal(t, b.RailKey(again.ID, 2), b.Rail.Orders[1].Key)
}

func TestAMismatchThatIsSettledClosesItsClaim(t *testing.T) {
	t.Parallel()
	b, claim, payout := ending(t, modeltest.Mismatched)
	_, err := resolve(t, b, payout, model.PayoutCancelled, "", true)
	require.NoError(t, err)
	require.Equal(t, "cancelled", only(t, b, claim).Status)
	closed := b.Claim(claim.ID)
	require.Equal(t, "closed", closed.Status)
	require.NotNil(t, closed.ClosedAt)
	require.Equal(t, []string{"payout.cancelled", "claim.closed"}, b.Told(claim.ID)[len(b.Told(claim.ID))-2:])
}
