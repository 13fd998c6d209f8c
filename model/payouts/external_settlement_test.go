package payouts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/ledger"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/wire"
)

func settleExternally(t *testing.T, b *modeltest.Bundle, who, reference string, payout wire.Payout) (*wire.Payout, error) {
	t.Helper()
	return b.Service.Payouts.SettleExternally(t.Context(), modeltest.OperatorNamed(who), payouts.SettlementRequest{PayoutID: payout.ID, Reference: reference, Note: "The bank's statement."})
}

// TestExternalSettlementNeedsTwoOperators settles a payout from each state that allows
// it.
func TestExternalSettlementNeedsTwoOperators(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T, *modeltest.Bundle, *wire.Claim){
		"pending": func(t *testing.T, b *modeltest.Bundle, claim *wire.Claim) {
			t.Helper()
			modeltest.StopReleases(t, b)
			b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
			b.RunJobs()
		},
		"without method": func(*testing.T, *modeltest.Bundle, *wire.Claim) {},
		"held": func(t *testing.T, b *modeltest.Bundle, claim *wire.Claim) {
			t.Helper()
			mustPayout(t, modeltest.Must(modeltest.HoldPayout(t, b, modeltest.OnlyPayout(t, b, claim), claims.BlockedCompliance)), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			claim := modeltest.NewApprovedClaim(b)
			prepare(t, b, claim)
			payout := modeltest.OnlyPayout(t, b, claim)
			waits, err := settleExternally(t, b, "ann", "bank-7", payout)
			require.NoError(t, err)
			require.Equal(t, "blocked", waits.Status)
			_, err = settleExternally(t, b, "ann", "bank-7", payout)
			require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "the second operator must be another one")
			_, err = settleExternally(t, b, "ben", "bank-8", payout)
			require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "another payment")
			require.Equal(t, "approved", b.Claim(claim.ID).Status)
			closed, err := settleExternally(t, b, "ben", "bank-7", payout)
			require.NoError(t, err)
			require.Equal(t, []string{"cancelled", "bank-7"}, []string{closed.Status, *closed.ProviderReference})
			require.Equal(t, "closed", b.Claim(claim.ID).Status)
			require.Equal(t, map[ledger.Account]int64{
				ledger.AccountClaimsIncurred: payout.Amount.Amount, ledger.AccountPayout: -payout.Amount.Amount,
			}, modeltest.ClaimBalances(t, b, claim.PolicyID))
			b.Sweep()
			b.AdvanceClock(time.Hour)
			b.RunJobs()
			require.Empty(t, b.Rail.Orders)
			_, err = settleExternally(t, b, "ann", "bank-7", payout)
			require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
		})
	}
}

func TestLiftedHoldWithdrawsASettlement(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	modeltest.StopReleases(t, b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, claim)
	modeltest.Must(settleExternally(t, b, "ann", "bank-7", payout))
	modeltest.Must(modeltest.LiftHold(t, b, payout))
	again, err := settleExternally(t, b, "ben", "bank-7", payout)
	require.NoError(t, err)
	require.Equal(t, "blocked", again.Status, "a withdrawn proposal does not count")
	require.Equal(t, "cancelled", modeltest.Must(settleExternally(t, b, "ann", "bank-7", payout)).Status)
}

func TestExternalSettlementRejectsPayoutSentToRail(t *testing.T) {
	t.Parallel()
	for _, answer := range []payouts.RailAnswer{modeltest.Unknown, modeltest.Accepted, modeltest.Mismatched} {
		b, _, payout := modeltest.NewPayoutWithAnswer(t, answer)
		_, err := settleExternally(t, b, "ann", "bank-7", payout)
		require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
		_, err = settleExternally(t, b, "ann", "", payout)
		require.Equal(t, []string{"/reference"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
		_, err = b.Service.Payouts.SettleExternally(t.Context(), b.Acme, payouts.SettlementRequest{PayoutID: payout.ID, Reference: "x", Note: "Please."})
		require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code)
	}
}
