package release_test

import (
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard/occurrence"
	"parapet/model/kernel/compress"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
	"parapet/model/payouts/release"
	"parapet/model/wire"
)

func TestAMethodRecordedAfterApprovalReleasesThePayout(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	method := b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	require.Equal(t, "pending", method.Status)
	require.Equal(t, "3000", method.Display.Last4)
	require.Equal(t, "payout_method_unverified", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	b.RunJobs()

	payout := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "released", payout.Status)
	require.Equal(t, *claim.Amount, payout.Amount)
	require.Equal(t, method.ID, *payout.PayoutMethodID)
	require.Equal(t, modeltest.RailName, *payout.Provider)
	require.Equal(t, "ref-1", *payout.ProviderReference)
	require.NotNil(t, payout.ReleasedAt)
	require.Nil(t, payout.BlockedReason)
	require.Nil(t, payout.NextAttemptAt)
	require.Equal(t, 1, payout.Attempts)
	require.Len(t, b.Rail.Orders, 1)
	require.Equal(t, b.RailKey(payout.ID, 1), b.Rail.Orders[0].Key)
	require.Equal(t, "DE89370400440532013000", b.Rail.Orders[0].Number.IBAN.IBAN)
	require.Equal(t, []string{
		"trigger.observed", "claim.opened", "claim.approved", "payout.created", "payout.blocked",
		"payout_method.recorded", "payout.updated", "payout_method.verified", "payout.unblocked", "payout.releasing", "payout.released",
	}, b.TimelineKinds(claim.ID))
}

func TestPayoutEventsFollowCreationOrder(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	method := b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	job, ok := b.TakeJob().(occurrence.EvaluateOccurrences)
	require.True(t, ok)
	require.NoError(t, b.Service.Adjudication.Evaluate(t.Context(), job))
	payout := modeltest.OnlyPayout(t, b, b.OnlyClaim(policy))
	require.Equal(t, int64(1), payout.Version)
	require.Equal(t, method.ID, *payout.PayoutMethodID)
	var data compress.JSON
	require.NoError(t, b.DB.Pool.QueryRow(t.Context(), "select data from events where type = 'payout.created'").Scan(&data))
	var event struct {
		Object wire.Payout `json:"object"`
	}
	require.NoError(t, json.Unmarshal(data, &event))
	require.Equal(t, payout, event.Object)
}

func TestAMethodOfThePolicyPaysItsClaimsAtOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	method := modeltest.PolicyIBANMethod(policy.ID)
	recorded := b.RecordPayoutMethod(method)
	require.Equal(t, policy.ID, *recorded.PolicyID)
	require.Nil(t, recorded.ClaimID)
	b.RunJobs()
	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	claim := b.OnlyClaim(policy)
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, []string{"trigger.observed", "claim.opened", "claim.approved", "payout.created", "payout.releasing", "payout.released"}, b.TimelineKinds(claim.ID))
	methods, err := b.Service.Payouts.GetMethods(t.Context(), b.Acme, claim.ID, store.PageRequest{})
	require.NoError(t, err)
	require.Len(t, methods.Data, 1)
	require.Equal(t, "verified", methods.Data[0].Status)
}

func TestARejectedMethodBlocksUntilAnotherComes(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Rail.Verify = func(*payouts.PayeeAccount) (bool, string) { return false, "account_closed" }
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Equal(t, "blocked", modeltest.OnlyPayout(t, b, claim).Status)
	require.Empty(t, b.Rail.Orders)
	b.Rail.Verify = nil
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
}

func TestARefusedPayoutGoesOutUnderTheNextKey(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return modeltest.Refused }
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "blocked", payout.Status)
	require.Equal(t, "rail_rejected", *payout.BlockedReason)

	b.Rail.Answer = nil
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	require.Equal(t, "rail_rejected", *modeltest.OnlyPayout(t, b, claim).BlockedReason, "until the other method is verified")
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Len(t, b.Rail.Orders, 2)
	require.Equal(t, b.RailKey(payout.ID, 2), b.Rail.Orders[1].Key)
	require.False(t, b.Rail.Orders[1].InDoubt)
}

func TestReleaseRetriesUnknownOutcomeWithSameKey(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return modeltest.Unknown }
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "reconciling", payout.Status)
	require.NotNil(t, payout.NextAttemptAt)
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1, "not before its time")

	b.AdvanceClock(6 * time.Second)
	b.RunJobs()
	require.Equal(t, "reconciling", modeltest.OnlyPayout(t, b, claim).Status)
	b.Rail.Answer = nil
	b.AdvanceClock(time.Minute)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Len(t, b.Rail.Orders, 3)
	for i, order := range b.Rail.Orders {
		require.Equal(t, b.RailKey(payout.ID, 1), order.Key)
		require.Equal(t, i > 0, order.InDoubt)
		require.Equal(t, i+1, order.Attempt)
	}
}

func TestAWorkerThatDiesBetweenBeginAndEndLeavesADoubt(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := modeltest.OnlyPayout(t, b, claim)
	first, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	require.False(t, first.InDoubt)
	again, wait, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
	require.NoError(t, err)
	require.Nil(t, again, "the lease is the first one's")
	require.Positive(t, wait)

	b.AdvanceClock(2 * time.Minute)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Len(t, b.Rail.Orders, 1)
	require.True(t, b.Rail.Orders[0].InDoubt)
	require.Equal(t, first.Key, b.Rail.Orders[0].Key)

	_, err = b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, first, modeltest.Refused)
	require.NoError(t, err, "the dead one's late answer changes nothing")
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
}

func TestLateRefusalKeepsKeyOfCallInFlight(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := modeltest.OnlyPayout(t, b, claim)
	begin := func() *release.Release {
		order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
		require.NoError(t, err)
		require.NotNil(t, order)
		return order
	}
	end := func(order *release.Release, answer payouts.RailAnswer) {
		_, err := b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, order, answer)
		require.NoError(t, err)
	}
	first := begin()
	b.AdvanceClock(2 * time.Minute)
	second := begin()
	end(first, modeltest.Refused)
	require.Equal(t, "releasing", modeltest.OnlyPayout(t, b, claim).Status)
	end(second, modeltest.Accepted)
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
}

func TestConcurrentWorkersGetOneOrder(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	payout := modeltest.OnlyPayout(t, b, claim)
	orders := make(chan *release.Release, 10)
	var workers sync.WaitGroup
	for range cap(orders) {
		workers.Go(func() {
			order, _, err := b.Service.Releases.BeginRelease(t.Context(), modeltest.ScriptedRail, "acme", payout.ID)
			if err == nil && order != nil {
				orders <- order
			}
		})
	}
	workers.Wait()
	require.Len(t, orders, 1)
}

func TestAMismatchIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.Rail.Answer = func(*release.Release) payouts.RailAnswer { return modeltest.Mismatched }
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "blocked", payout.Status)
	require.Equal(t, "rail_mismatch", *payout.BlockedReason)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.AdvanceClock(time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Equal(t, "rail_mismatch", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	require.Len(t, b.Rail.Orders, 1)
}

func TestAReplacedMethodIsNotPaidTo(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	require.Equal(t, "pending", modeltest.OnlyPayout(t, b, claim).Status)
	other := modeltest.IBANMethod(claim.ID)
	other.Number.IBAN.IBAN = "GB29NWBK60161331926819"
	second := b.RecordPayoutMethod(other)
	require.Equal(t, "payout_method_unverified", *modeltest.OnlyPayout(t, b, claim).BlockedReason)
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "pending", payout.Status)
	require.Equal(t, second.CreatedAt.Add(24*time.Hour), *payout.NextAttemptAt, "another account waits a day")
	b.AdvanceClock(24 * time.Hour)
	b.RunJobs()
	payout = modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "released", payout.Status)
	require.Equal(t, second.ID, *payout.PayoutMethodID)
	require.Len(t, b.Rail.Orders, 1)
	require.Equal(t, "GB29NWBK60161331926819", b.Rail.Orders[0].Number.IBAN.IBAN)
}
