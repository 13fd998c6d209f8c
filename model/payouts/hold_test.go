package payouts_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

// mustPayout returns the payout of a hold or release that must succeed.
func mustPayout(t *testing.T, payout *wire.Payout, err error) *wire.Payout {
	t.Helper()
	require.NoError(t, err)
	return payout
}

func TestHeldPayoutWaitsForOperator(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "pending", payout.Status)
	blocked, err := modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
	require.Equal(t, modeltest.OnlyPayout(t, b, claim), *mustPayout(t, blocked, err))
	require.Equal(t, "operator_hold", *blocked.BlockedReason)
	require.Nil(t, blocked.NextAttemptAt)
	_, err = modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	changed, err := modeltest.HoldPayout(t, b, payout, claims.BlockedCompliance)
	require.Equal(t, "compliance_hold", *mustPayout(t, changed, err).BlockedReason)

	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.AdvanceClock(48 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "compliance_hold", *modeltest.OnlyPayout(t, b, claim).BlockedReason, "no other method lifts a hold")
	require.Empty(t, b.Rail.Orders)

	freed, err := modeltest.LiftHold(t, b, payout)
	require.Equal(t, "pending", mustPayout(t, freed, err).Status)
	require.NotNil(t, freed.NextAttemptAt)
	_, err = modeltest.LiftHold(t, b, payout)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, []string{"payout.blocked", "payout.updated", "payout_method.recorded", "payout_method.replaced", "payout.updated", "payout_method.verified", "payout.unblocked", "payout.releasing", "payout.released"}, b.TimelineKinds(claim.ID)[9:])
	_, err = modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "it was already sent")
}

func TestLiftedHoldRestoresPreviousBlockReason(t *testing.T) {
	t.Parallel()
	for reason, blocked := range map[string]func(*modeltest.Bundle) *wire.Claim{
		"payout_method_missing": modeltest.NewApprovedClaim,
		"payout_method_unverified": func(b *modeltest.Bundle) *wire.Claim {
			claim := modeltest.NewApprovedClaim(b)
			b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
			return claim
		},
		"rail_rejected": func(b *modeltest.Bundle) *wire.Claim {
			claim := modeltest.NewApprovedClaim(b)
			b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return modeltest.Refused }
			b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
			b.RunJobs()
			return claim
		},
		"approval_required": func(b *modeltest.Bundle) *wire.Claim {
			policy := b.QuoteAndBind("quake-circle", modeltest.Context{"limit": map[string]any{"amount": 100_000_000, "currency": "USD"}})
			b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
			b.RunJobs()
			b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
			b.RunJobs()
			return b.OnlyClaim(policy)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			claim := blocked(b)
			payout := modeltest.OnlyPayout(t, b, claim)
			require.Equal(t, reason, *payout.BlockedReason)
			for range 2 {
				for _, hard := range []claims.BlockedReason{claims.BlockedOperator, claims.BlockedCompliance} {
					_, err := modeltest.HoldPayout(t, b, payout, hard)
					require.NoError(t, err)
				}
				freed, err := modeltest.LiftHold(t, b, payout)
				require.Equal(t, reason, *mustPayout(t, freed, err).BlockedReason)
			}
			_, err := modeltest.LiftHold(t, b, payout)
			require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "it is not held")
			sent := len(b.Rail.Orders)
			b.AdvanceClock(time.Hour)
			b.Sweep()
			require.Len(t, b.Rail.Orders, sent)
		})
	}
}

func TestMethodRecordedDuringHoldIsUsed(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return modeltest.Refused }
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, claim)
	_, err := modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
	require.NoError(t, err)
	b.Rail.Answer = nil
	other := b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	freed, err := modeltest.LiftHold(t, b, payout)
	require.Equal(t, "pending", mustPayout(t, freed, err).Status)
	b.RunJobs()
	paid := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "released", paid.Status)
	require.Equal(t, other.ID, *paid.PayoutMethodID)
	require.Equal(t, b.RailKey(payout.ID, 2), b.Rail.Orders[1].Key)
}

func TestPayoutAtRailCannotBeHeld(t *testing.T) {
	t.Parallel()
	for status, answer := range map[string]*payouts.RailAnswer{"releasing": nil, "reconciling": &modeltest.Unknown, "released": &modeltest.Accepted, "blocked": &modeltest.Mismatched} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			claim := modeltest.NewApprovedClaim(b)
			b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
			b.RunAccountChecks()
			order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", modeltest.OnlyPayout(t, b, claim).ID)
			require.NoError(t, err)
			if answer != nil {
				_, err = b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, *answer)
				require.NoError(t, err)
			}
			payout := modeltest.OnlyPayout(t, b, claim)
			require.Equal(t, status, payout.Status)
			for _, reason := range []claims.BlockedReason{claims.BlockedOperator, claims.BlockedCompliance} {
				_, err = modeltest.HoldPayout(t, b, payout, reason)
				require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
			}
			_, err = modeltest.LiftHold(t, b, payout)
			require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
			require.Equal(t, payout, modeltest.OnlyPayout(t, b, claim))
		})
	}
}

func TestLateSuccessDuringHoldIsRailMismatch(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := modeltest.OnlyPayout(t, b, claim)
	order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	_, err = b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Refused)
	require.NoError(t, err)
	_, err = modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
	require.NoError(t, err)
	_, err = b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Accepted)
	require.NoError(t, err)
	require.Equal(t, "rail_mismatch", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	_, err = modeltest.LiftHold(t, b, payout)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "it is never sent again")
}

func TestHoldNeedsReasonAndNote(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	payout := modeltest.OnlyPayout(t, b, modeltest.NewApprovedClaim(b))
	for _, reason := range []claims.BlockedReason{"", "spite", claims.BlockedRailMismatch, claims.BlockedApproval} {
		_, err := b.Service.Payouts.Block(t.Context(), b.Operator, payouts.HoldRequest{PayoutID: payout.ID, Reason: reason})
		require.Equal(t, []string{"/note", "/reason"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
	}
	_, err := b.Service.Payouts.Unblock(t.Context(), b.Operator, payouts.LiftHoldRequest{PayoutID: payout.ID, Note: "\t"})
	require.Equal(t, []string{"/note"}, modeltest.FieldPointers(modeltest.DomainError(t, err)))
}

func TestConcurrentHoldAndRelease(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithConnections(12))
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := modeltest.OnlyPayout(t, b, claim)
	orders, holds := make(chan *release.Release, 8), make(chan error, 8)
	var all sync.WaitGroup
	for range cap(orders) {
		all.Go(func() {
			order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
			if err != nil {
				t.Error(err)
			} else if order != nil {
				orders <- order
			}
		})
		all.Go(func() {
			_, err := modeltest.HoldPayout(t, b, payout, claims.BlockedOperator)
			if err == nil || apperr.CodeOf(err) != apperr.CodeStateConflict {
				holds <- err
			}
		})
	}
	all.Wait()
	require.Equal(t, 1, len(orders)+len(holds), "it is sent or held, never both")
	for range len(holds) {
		require.NoError(t, <-holds)
	}
}
