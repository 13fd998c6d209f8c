package model_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// holdPayout blocks a payout for a reason.
func holdPayout(t *testing.T, b *modeltest.Bundle, payout wire.Payout, reason model.BlockedReason) (*wire.Payout, error) {
	t.Helper()
	return b.Service.BlockPayout(t.Context(), b.Operator, model.HoldRequest{PayoutID: payout.ID, Reason: reason, Note: "A name on a list."})
}

func liftHold(t *testing.T, b *modeltest.Bundle, payout wire.Payout) (*wire.Payout, error) {
	t.Helper()
	return b.Service.UnblockPayout(t.Context(), b.Operator, model.LiftHoldRequest{PayoutID: payout.ID, Note: "Another person."})
}

// mustPayout returns the payout of a hold or release that must succeed.
func mustPayout(t *testing.T, payout *wire.Payout, err error) *wire.Payout {
	t.Helper()
	require.NoError(t, err)
	return payout
}

func TestHeldPayoutWaitsForOperator(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := only(t, b, claim)
	require.Equal(t, "pending", payout.Status)
	blocked, err := holdPayout(t, b, payout, model.BlockedOperator)
	require.Equal(t, only(t, b, claim), *mustPayout(t, blocked, err))
	require.Equal(t, "operator_hold", *blocked.BlockedReason)
	require.Nil(t, blocked.NextAttemptAt)
	_, err = holdPayout(t, b, payout, model.BlockedOperator)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	changed, err := holdPayout(t, b, payout, model.BlockedCompliance)
	require.Equal(t, "compliance_hold", *mustPayout(t, changed, err).BlockedReason)

	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.AdvanceClock(48 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "compliance_hold", *only(t, b, claim).BlockedReason, "no other method lifts a hold")
	require.Empty(t, b.Rail.Orders)

	freed, err := liftHold(t, b, payout)
	require.Equal(t, "pending", mustPayout(t, freed, err).Status)
	require.NotNil(t, freed.NextAttemptAt)
	_, err = liftHold(t, b, payout)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
	b.RunJobs()
	require.Equal(t, "released", only(t, b, claim).Status)
	require.Equal(t, []string{"payout.blocked", "payout.updated", "payout_method.recorded", "payout_method.replaced", "payout.updated", "payout_method.verified", "payout.unblocked", "payout.releasing", "payout.released"}, b.TimelineKinds(claim.ID)[9:])
	_, err = holdPayout(t, b, payout, model.BlockedOperator)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code, "it was already sent")
}

func TestLiftedHoldRestoresPreviousBlockReason(t *testing.T) {
	t.Parallel()
	for reason, blocked := range map[string]func(*modeltest.Bundle) *wire.Claim{
		"payout_method_missing": owed,
		"payout_method_unverified": func(b *modeltest.Bundle) *wire.Claim {
			claim := owed(b)
			b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
			return claim
		},
		"rail_rejected": func(b *modeltest.Bundle) *wire.Claim {
			claim := owed(b)
			b.Rail.Answer = func(*model.Release) model.RailAnswer { return modeltest.Refused }
			b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
			b.RunJobs()
			return claim
		},
		"approval_required": func(b *modeltest.Bundle) *wire.Claim {
			policy := b.QuoteAndBind("quake-circle", modeltest.Context{"limit": map[string]any{"amount": 100_000_000, "currency": "USD"}})
			b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
			b.RunJobs()
			b.Observe(modeltest.Quake("us1", b.Now(), epicentre, "6.4"))
			b.RunJobs()
			return b.OnlyClaim(policy)
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			claim := blocked(b)
			payout := only(t, b, claim)
			require.Equal(t, reason, *payout.BlockedReason)
			for range 2 {
				for _, hard := range []model.BlockedReason{model.BlockedOperator, model.BlockedCompliance} {
					_, err := holdPayout(t, b, payout, hard)
					require.NoError(t, err)
				}
				freed, err := liftHold(t, b, payout)
				require.Equal(t, reason, *mustPayout(t, freed, err).BlockedReason)
			}
			_, err := liftHold(t, b, payout)
			require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code, "it is not held")
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
	claim := owed(b)
	b.Rail.Answer = func(*model.Release) model.RailAnswer { return modeltest.Refused }
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	payout := only(t, b, claim)
	_, err := holdPayout(t, b, payout, model.BlockedOperator)
	require.NoError(t, err)
	b.Rail.Answer = nil
	other := b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	freed, err := liftHold(t, b, payout)
	require.Equal(t, "pending", mustPayout(t, freed, err).Status)
	b.RunJobs()
	paid := only(t, b, claim)
	require.Equal(t, "released", paid.Status)
	require.Equal(t, other.ID, *paid.PayoutMethodID)
	require.Equal(t, b.RailKey(payout.ID, 2), b.Rail.Orders[1].Key)
}

func TestPayoutAtRailCannotBeHeld(t *testing.T) {
	t.Parallel()
	for status, answer := range map[string]*model.RailAnswer{"releasing": nil, "reconciling": &modeltest.Unknown, "released": &modeltest.Accepted, "blocked": &modeltest.Mismatched} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			claim := owed(b)
			b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
			b.RunAccountChecks()
			order, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", only(t, b, claim).ID)
			require.NoError(t, err)
			if answer != nil {
				_, err = b.Service.EndRelease(t.Context(), modeltest.RailName, order, *answer)
				require.NoError(t, err)
			}
			payout := only(t, b, claim)
			require.Equal(t, status, payout.Status)
			for _, reason := range []model.BlockedReason{model.BlockedOperator, model.BlockedCompliance} {
				_, err = holdPayout(t, b, payout, reason)
				require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
			}
			_, err = liftHold(t, b, payout)
			require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code)
			require.Equal(t, payout, only(t, b, claim))
		})
	}
}

func TestLateSuccessDuringHoldIsRailMismatch(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := only(t, b, claim)
	order, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	_, err = b.Service.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Refused)
	require.NoError(t, err)
	_, err = holdPayout(t, b, payout, model.BlockedOperator)
	require.NoError(t, err)
	_, err = b.Service.EndRelease(t.Context(), modeltest.RailName, order, modeltest.Accepted)
	require.NoError(t, err)
	require.Equal(t, "rail_mismatch", *only(t, b, claim).BlockedReason)
	_, err = liftHold(t, b, payout)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code, "it is never sent again")
}

func TestHoldNeedsReasonAndNote(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	payout := only(t, b, owed(b))
	for _, reason := range []model.BlockedReason{"", "spite", model.BlockedRailMismatch, model.BlockedApproval} {
		_, err := b.Service.BlockPayout(t.Context(), b.Operator, model.HoldRequest{PayoutID: payout.ID, Reason: reason})
		require.Equal(t, []string{"/note", "/reason"}, fieldPointers(domainError(t, err)))
	}
	_, err := b.Service.UnblockPayout(t.Context(), b.Operator, model.LiftHoldRequest{PayoutID: payout.ID, Note: "\t"})
	require.Equal(t, []string{"/note"}, fieldPointers(domainError(t, err)))
}

func TestConcurrentHoldAndRelease(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithConnections(12))
	claim := owed(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := only(t, b, claim)
	orders, holds := make(chan *model.Release, 8), make(chan error, 8)
	var all sync.WaitGroup
	for range cap(orders) {
		all.Go(func() {
			order, _, err := b.Service.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
			if err != nil {
				t.Error(err)
			} else if order != nil {
				orders <- order
			}
		})
		all.Go(func() {
			_, err := holdPayout(t, b, payout, model.BlockedOperator)
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
