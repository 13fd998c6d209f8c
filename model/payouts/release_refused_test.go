package payouts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/reconciliation"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

func TestRefusedPayoutGoesToAccountVerifiedWhileItWasInFlight(t *testing.T) {
	t.Parallel()
	refuse := func(b *modeltest.Bundle, order *release.Release) error {
		_, err := b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Refused)
		return err
	}
	for name, refuse := range map[string]func(*modeltest.Bundle, *release.Release) error{
		"by the answer": refuse,
		"after doubt": func(b *modeltest.Bundle, order *release.Release) error {
			_, err := b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Unknown)
			require.NoError(t, err)
			b.AdvanceClock(time.Minute)
			again, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", order.PayoutID)
			require.NoError(t, err)
			return refuse(b, again)
		},
		"by a report": func(b *modeltest.Bundle, order *release.Release) error {
			line := reconciliation.ReportLine{Key: order.Key, Amount: order.Amount, Status: reconciliation.LineRejected, Code: "AC04"}
			_, err := b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Unknown)
			require.NoError(t, err)
			modeltest.Reconcile(t, b, "one", line)
			again, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", order.PayoutID)
			require.NoError(t, err)
			require.True(t, again.RefusalReported)
			return refuse(b, again)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, claim, order := modeltest.NewPayoutInFlight(t)
			second := modeltest.ReplaceAccount(b, claim)
			b.RunAccountChecks()
			require.NoError(t, refuse(b, order))
			require.Equal(t, "rail_rejected", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
			b.RunJobs()
			payout := modeltest.OnlyPayout(t, b, claim)
			require.Equal(t, "released", payout.Status)
			require.Equal(t, second.ID, *payout.PayoutMethodID)
			require.Len(t, b.Rail.Orders, 1)
			require.NotEqual(t, order.Key, b.Rail.Orders[0].Key)
		})
	}
}

// TestUnsentPayoutGoesToAccountVerifiedWhileItWasInFlight records the claim's account while the
// payout to another one is in flight, and then the rail cannot be reached.
func TestUnsentPayoutGoesToAccountVerifiedWhileItWasInFlight(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(*wire.Claim) payouts.MethodRequest{
		"replaced":     func(claim *wire.Claim) payouts.MethodRequest { return modeltest.IBANMethod(claim.ID) },
		"the policy's": func(claim *wire.Claim) payouts.MethodRequest { return modeltest.PolicyIBANMethod(claim.PolicyID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			claim := modeltest.NewApprovedClaim(b)
			b.RecordPayoutMethod(first(claim))
			b.RunAccountChecks()
			order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", modeltest.OnlyPayout(t, b, claim).ID)
			require.NoError(t, err)
			second := modeltest.ReplaceAccount(b, claim)
			b.RunAccountChecks()
			_, err = b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, payouts.RailAnswer{Outcome: payouts.OutcomeNotSent, Code: "connection refused"})
			require.NoError(t, err)
			b.RunJobs()
			waiting := modeltest.OnlyPayout(t, b, claim)
			require.Equal(t, "pending", waiting.Status)
			require.Equal(t, second.ID, *waiting.PayoutMethodID)
			b.AdvanceClock(25 * time.Hour)
			b.Sweep()
			b.RunJobs()
			require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
		})
	}
}

func TestRefusedPayoutWaitsForItsNextAccountToBeVerified(t *testing.T) {
	t.Parallel()
	b, claim, order := modeltest.NewPayoutInFlight(t)
	modeltest.ReplaceAccount(b, claim)
	_, err := b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Refused)
	require.NoError(t, err)
	require.NoError(t, b.Service.Payouts.Reevaluate(t.Context(), payouts.ReevaluatePayouts{Partner: "acme", Claim: claim.ID}))
	require.Equal(t, "rail_rejected", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
}

func TestAccountCheckIsAskedForAgainWithinAMinute(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	method := b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	_, err := b.Service.Payouts.BeginVerification(t.Context(), "acme", method.ID) // and then the rail fails
	require.NoError(t, err)
	b.Sweep()
	require.Equal(t, 1, b.CountJobs("verify_payout_method"), "the check has its time")
	b.AdvanceClock(50 * time.Second)
	b.Sweep()
	require.Equal(t, 2, b.CountJobs("verify_payout_method"))
	b.AdvanceClock(time.Minute)
	b.Sweep()
	require.Equal(t, 2, b.CountJobs("verify_payout_method"), "jobs do not accumulate while no worker runs")
	b.AdvanceClock(5 * time.Minute)
	b.Sweep()
	require.Equal(t, 3, b.CountJobs("verify_payout_method"), "a lost job is asked for again")
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	b.AdvanceClock(time.Hour)
	b.Sweep()
	require.Equal(t, 3, b.CountJobs("verify_payout_method"))
}

func TestPayoutIsNotWrittenOverAnotherVersionOrState(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	payout := modeltest.OnlyPayout(t, b, modeltest.NewApprovedClaim(b))
	require.NoError(t, b.Service.Payouts.SavePayoutAsReadBefore(t.Context(), payout.ID, 0, claims.PayoutBlocked))
	written := modeltest.OnlyPayout(t, b, b.Claim(payout.ClaimID))
	require.Equal(t, payout.Version+1, written.Version)
	err := b.Service.Payouts.SavePayoutAsReadBefore(t.Context(), payout.ID, 1, claims.PayoutBlocked)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	err = b.Service.Payouts.SavePayoutAsReadBefore(t.Context(), payout.ID, 0, claims.PayoutPending)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	require.Equal(t, written, modeltest.OnlyPayout(t, b, b.Claim(payout.ClaimID)))
}
