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

func settleExternally(t *testing.T, b *modeltest.Bundle, who, reference string, payout wire.Payout) (*wire.Payout, error) {
	t.Helper()
	return b.Service.SettlePayoutExternally(t.Context(), operatorNamed(who), model.SettlementRequest{PayoutID: payout.ID, Reference: reference, Note: "The bank's statement."})
}

// TestExternalSettlementNeedsTwoOperators settles a payout from each state that allows
// it.
func TestExternalSettlementNeedsTwoOperators(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T, *modeltest.Bundle, *wire.Claim){
		"pending": func(t *testing.T, b *modeltest.Bundle, claim *wire.Claim) {
			t.Helper()
			stop(t, b)
			b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
			b.RunJobs()
		},
		"without method": func(*testing.T, *modeltest.Bundle, *wire.Claim) {},
		"held": func(t *testing.T, b *modeltest.Bundle, claim *wire.Claim) {
			t.Helper()
			mustPayout(t, must(holdPayout(t, b, only(t, b, claim), model.BlockedCompliance)), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			claim := owed(b)
			prepare(t, b, claim)
			payout := only(t, b, claim)
			waits, err := settleExternally(t, b, "ann", "bank-7", payout)
			require.NoError(t, err)
			require.Equal(t, "blocked", waits.Status)
			_, err = settleExternally(t, b, "ann", "bank-7", payout)
			require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code, "the second operator must be another one")
			_, err = settleExternally(t, b, "ben", "bank-8", payout)
			require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code, "another payment")
			require.Equal(t, "approved", b.Claim(claim.ID).Status)
			closed, err := settleExternally(t, b, "ben", "bank-7", payout)
			require.NoError(t, err)
			require.Equal(t, []string{"cancelled", "bank-7"}, []string{closed.Status, *closed.ProviderReference})
			require.Equal(t, "closed", b.Claim(claim.ID).Status)
			require.Equal(t, map[model.LedgerAccount]int64{
				model.AccountClaimsIncurred: payout.Amount.Amount, model.AccountPayout: -payout.Amount.Amount,
			}, claimsOnly(t, b, claim.PolicyID))
			b.Sweep()
			b.AdvanceClock(time.Hour)
			b.RunJobs()
			require.Empty(t, b.Rail.Orders)
			_, err = settleExternally(t, b, "ann", "bank-7", payout)
			require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
		})
	}
}

func TestLiftedHoldWithdrawsASettlement(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	stop(t, b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	payout := only(t, b, claim)
	must(settleExternally(t, b, "ann", "bank-7", payout))
	must(liftHold(t, b, payout))
	again, err := settleExternally(t, b, "ben", "bank-7", payout)
	require.NoError(t, err)
	require.Equal(t, "blocked", again.Status, "a withdrawn proposal does not count")
	require.Equal(t, "cancelled", must(settleExternally(t, b, "ann", "bank-7", payout)).Status)
}

func TestExternalSettlementRejectsPayoutSentToRail(t *testing.T) {
	t.Parallel()
	for _, answer := range []model.RailAnswer{modeltest.Unknown, modeltest.Accepted, modeltest.Mismatched} {
		b, _, payout := newPayoutWithAnswer(t, answer)
		_, err := settleExternally(t, b, "ann", "bank-7", payout)
		require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
		_, err = settleExternally(t, b, "ann", "", payout)
		require.Equal(t, []string{"/reference"}, fieldPointers(domainError(t, err)))
		_, err = b.Service.SettlePayoutExternally(t.Context(), b.Acme, model.SettlementRequest{PayoutID: payout.ID, Reference: "x", Note: "Please."})
		require.Equal(t, apperr.CodeInsufficientScope, domainError(t, err).Code)
	}
}
