package model_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func settle(t *testing.T, b *modeltest.Bundle, who, reference string, payout wire.Payout) (*wire.Payout, error) {
	t.Helper()
	return b.Service.SettlePayoutExternally(t.Context(), operator(who), model.SettlementRequest{PayoutID: payout.ID, Reference: reference, Note: "The bank's statement."})
}

// TestPayoutIsClosedAsPaidByTwoOperators does so for each state that may be.
func TestPayoutIsClosedAsPaidByTwoOperators(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T, *modeltest.Bundle, *wire.Claim){
		"pending": func(t *testing.T, b *modeltest.Bundle, claim *wire.Claim) {
			t.Helper()
			stop(t, b)
			b.Record(modeltest.IBAN(claim.ID))
			b.Work()
		},
		"without method": func(*testing.T, *modeltest.Bundle, *wire.Claim) {},
		"held": func(t *testing.T, b *modeltest.Bundle, claim *wire.Claim) {
			t.Helper()
			held(t, must(hold(t, b, only(t, b, claim), model.BlockedCompliance)), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			claim := owed(b)
			prepare(t, b, claim)
			payout := only(t, b, claim)
			waits, err := settle(t, b, "ann", "bank-7", payout)
			require.NoError(t, err)
			require.Equal(t, "blocked", waits.Status)
			_, err = settle(t, b, "ann", "bank-7", payout)
			require.Equal(t, model.CodeStateConflict, failure(t, err).Code, "nobody is two")
			_, err = settle(t, b, "ben", "bank-8", payout)
			require.Equal(t, model.CodeStateConflict, failure(t, err).Code, "another payment")
			require.Equal(t, "approved", b.Claim(claim.ID).Status)
			closed, err := settle(t, b, "ben", "bank-7", payout)
			require.NoError(t, err)
			require.Equal(t, []string{"cancelled", "bank-7"}, []string{closed.Status, *closed.ProviderReference})
			require.Equal(t, "closed", b.Claim(claim.ID).Status)
			require.Equal(t, map[model.LedgerAccount]int64{
				model.AccountClaimsIncurred: payout.Amount.Amount, model.AccountPayout: -payout.Amount.Amount,
			}, claimsOnly(t, b, claim.PolicyID))
			b.Sweep()
			b.After(time.Hour)
			b.Work()
			require.Empty(t, b.Rail.Orders)
			_, err = settle(t, b, "ann", "bank-7", payout)
			require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
		})
	}
}

func TestLiftedHoldWithdrawsASettlement(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	stop(t, b)
	b.Record(modeltest.IBAN(claim.ID))
	b.Work()
	payout := only(t, b, claim)
	must(settle(t, b, "ann", "bank-7", payout))
	must(lift(t, b, payout))
	again, err := settle(t, b, "ben", "bank-7", payout)
	require.NoError(t, err)
	require.Equal(t, "blocked", again.Status, "what was withdrawn counts no more")
	require.Equal(t, "cancelled", must(settle(t, b, "ann", "bank-7", payout)).Status)
}

func TestPayoutThatARailMayHaveIsNotClosedAsPaid(t *testing.T) {
	t.Parallel()
	for _, answer := range []model.RailAnswer{modeltest.Unknown, modeltest.Accepted, modeltest.Mismatched} {
		b, _, payout := ending(t, answer)
		_, err := settle(t, b, "ann", "bank-7", payout)
		require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
		_, err = settle(t, b, "ann", "", payout)
		require.Equal(t, []string{"/reference"}, pointers(failure(t, err)))
		_, err = b.Service.SettlePayoutExternally(t.Context(), b.Acme, model.SettlementRequest{PayoutID: payout.ID, Reference: "x", Note: "Please."})
		require.Equal(t, model.CodeInsufficientScope, failure(t, err).Code)
	}
}
