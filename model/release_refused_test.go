package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// sendWhileInFlight is a payout that a worker has begun to release to the claim's first account.
func inFlight(t *testing.T) (*modeltest.Bundle, *wire.Claim, *model.Release) {
	t.Helper()
	b := modeltest.New(t)
	claim := owed(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	order, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", only(t, b, claim).ID)
	require.NoError(t, err)
	return b, claim, order
}

// replaceAccount records another account for the claim.
func replaceAccount(b *modeltest.Bundle, claim *wire.Claim) *wire.PayoutMethod {
	other := modeltest.IBANMethod(claim.ID)
	other.Number.IBAN.IBAN = "GB29NWBK60161331926819"
	return b.RecordPayoutMethod(other)
}

func TestRefusedPayoutGoesToAccountVerifiedWhileItWasInFlight(t *testing.T) {
	t.Parallel()
	refuse := func(b *modeltest.Bundle, order *model.Release) error {
		_, err := b.Service.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Refused)
		return err
	}
	for name, refuse := range map[string]func(*modeltest.Bundle, *model.Release) error{
		"by the answer": refuse,
		"after doubt": func(b *modeltest.Bundle, order *model.Release) error {
			_, err := b.Service.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Unknown)
			require.NoError(t, err)
			b.AdvanceClock(time.Minute)
			again, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", order.PayoutID)
			require.NoError(t, err)
			return refuse(b, again)
		},
		"by a report": func(b *modeltest.Bundle, order *model.Release) error {
			line := model.ReportLine{Key: order.Key, Amount: order.Amount, Status: model.LineRejected, Code: "AC04"}
			_, err := b.Service.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Unknown)
			require.NoError(t, err)
			reconcile(t, b, "one", line)
			again, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", order.PayoutID)
			require.NoError(t, err)
			require.True(t, again.RefusalReported)
			return refuse(b, again)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, claim, order := inFlight(t)
			second := replaceAccount(b, claim)
			b.RunAccountChecks()
			require.NoError(t, refuse(b, order))
			require.Equal(t, "rail_rejected", *only(t, b, claim).BlockedReason)
			b.RunJobs()
			payout := only(t, b, claim)
			require.Equal(t, "released", payout.Status)
			require.Equal(t, second.ID, *payout.PayoutMethodID)
			require.Len(t, b.Rail.Orders, 1)
			require.NotEqual(t, order.Key, b.Rail.Orders[0].Key)
		})
	}
}

func TestRefusedPayoutWaitsForItsNextAccountToBeVerified(t *testing.T) {
	t.Parallel()
	b, claim, order := inFlight(t)
	replaceAccount(b, claim)
	_, err := b.Service.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Refused)
	require.NoError(t, err)
	require.NoError(t, b.Service.ReevaluatePayouts(t.Context(), store.ReevaluatePayouts{Partner: "acme", Claim: claim.ID}))
	require.Equal(t, "rail_rejected", *only(t, b, claim).BlockedReason)
	b.RunJobs()
	require.Equal(t, "released", only(t, b, claim).Status)
}

func TestAccountCheckIsAskedForAgainWithinAMinute(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	method := b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	checks := func() (n int) {
		require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select count(*) from modeltest_jobs where kind = 'verify_payout_method'").Scan(&n))
		return n
	}
	_, err := b.Service.BeginVerification(t.Context(), "acme", method.ID) // and then the rail fails
	require.NoError(t, err)
	b.Sweep()
	require.Equal(t, 1, checks(), "the check has its time")
	b.AdvanceClock(50 * time.Second)
	b.Sweep()
	require.Equal(t, 2, checks())
	b.AdvanceClock(time.Minute)
	b.Sweep()
	require.Equal(t, 2, checks(), "jobs do not accumulate while no worker runs")
	b.AdvanceClock(5 * time.Minute)
	b.Sweep()
	require.Equal(t, 3, checks(), "a lost job is asked for again")
	b.RunJobs()
	require.Equal(t, "released", only(t, b, claim).Status)
	b.AdvanceClock(time.Hour)
	b.Sweep()
	require.Equal(t, 3, checks())
}

func TestPayoutIsNotWrittenOverAnotherVersionOrState(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	payout := only(t, b, owed(b))
	require.NoError(t, b.Service.SavePayoutAsReadBefore(t.Context(), payout.ID, 0, model.PayoutBlocked))
	written := only(t, b, b.Claim(payout.ClaimID))
	require.Equal(t, payout.Version+1, written.Version)
	err := b.Service.SavePayoutAsReadBefore(t.Context(), payout.ID, 1, model.PayoutBlocked)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	err = b.Service.SavePayoutAsReadBefore(t.Context(), payout.ID, 0, model.PayoutPending)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	require.Equal(t, written, only(t, b, b.Claim(payout.ClaimID)))
}
