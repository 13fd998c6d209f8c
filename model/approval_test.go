package model_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// costly is a claim that was approved with a million dollars, to be paid to an
// account that is verified.
func costly(b *modeltest.Bundle) *wire.Claim {
	policy := b.Cover("quake-circle", modeltest.Context{"limit": map[string]any{"amount": 100_000_000, "currency": "USD"}})
	b.Record(modeltest.PolicyIBAN(policy.ID))
	b.Work()
	b.Observe(modeltest.Quake("us1", b.Now(), epicentre, "6.4"))
	b.Work()
	return b.OnlyClaim(policy)
}

// operator is one person of several.
func operator(name string) model.Actor {
	actor := modeltest.Operator()
	actor.Name = name
	return actor
}

// british is another account than modeltest.IBAN.
func british(claim string) model.PayoutMethodRequest {
	in := modeltest.IBAN(claim)
	in.Number.IBAN.IBAN = "GB29NWBK60161331926819"
	return in
}

func approve(t *testing.T, b *modeltest.Bundle, who string, payout wire.Payout) (*wire.Payout, error) {
	t.Helper()
	return b.Service.ApprovePayout(t.Context(), operator(who), model.ApprovalRequest{PayoutID: payout.ID})
}

func TestMuchMoneyNeedsTwoPeople(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := costly(b)
	payout := only(t, b, claim)
	require.Equal(t, "approval_required", *payout.BlockedReason)
	lacking := func() {
		_, err := b.Service.ReleasePayout(t.Context(), operator("ann"), model.ReleaseRequest{PayoutID: payout.ID})
		require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
	}
	lacking()
	first, err := approve(t, b, "ann", payout)
	require.NoError(t, err)
	require.Equal(t, payout, *first, "one approval changes nothing that a partner sees")
	_, err = approve(t, b, "ann", payout)
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code, "nobody approves twice")
	lacking()
	states, err := b.Service.ApprovalsOf(t.Context(), b.Operator, []string{payout.ID})
	require.NoError(t, err)
	state := states[payout.ID]
	require.Equal(t, 2, state.Needed)
	require.Len(t, state.Given, 1)
	require.True(t, state.Given[0].Holds)
	_, err = b.Service.ApprovalsOf(t.Context(), b.Acme, []string{payout.ID})
	require.Equal(t, model.CodeInsufficientScope, failure(t, err).Code, "who approved is private")
	_, err = b.Service.ApprovePayout(t.Context(), operator("ben"), model.ApprovalRequest{PayoutID: payout.ID, Digest: "other"})
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code, "it is not what was seen")
	second, err := b.Service.ApprovePayout(t.Context(), operator("ben"), model.ApprovalRequest{PayoutID: payout.ID, Digest: *state.Digest})
	require.NoError(t, err)
	require.Equal(t, "pending", second.Status)
	_, err = approve(t, b, "cid", payout)
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
	b.Work()
	require.Equal(t, "released", only(t, b, claim).Status)
	again, err := b.Service.ReleasePayout(t.Context(), operator("ann"), model.ReleaseRequest{PayoutID: payout.ID})
	require.NoError(t, err)
	require.Equal(t, "released", again.Status)
	_, err = b.DB.Pool.Exec(t.Context(), "update payout_approvals set author = 'eve'")
	require.ErrorContains(t, err, "insert-only")
	_, err = b.DB.Pool.Exec(t.Context(), "delete from payout_approvals")
	require.ErrorContains(t, err, "insert-only")
}

func TestAnotherAccountVoidsWhatWasApproved(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := costly(b)
	payout := only(t, b, claim)
	for _, who := range []string{"ann", "ben"} {
		_, err := approve(t, b, who, payout)
		require.NoError(t, err)
	}
	require.Equal(t, "pending", only(t, b, claim).Status)
	other := b.Record(british(claim.ID))
	b.Verify()
	payout = only(t, b, claim)
	require.Equal(t, "approval_required", *payout.BlockedReason)
	require.Empty(t, b.Rail.Orders)
	states, err := b.Service.ApprovalsOf(t.Context(), b.Operator, []string{payout.ID})
	require.NoError(t, err)
	state := states[payout.ID]
	require.Len(t, state.Given, 2)
	require.False(t, state.Given[0].Holds || state.Given[1].Holds)
	b.After(48 * time.Hour)
	b.Sweep()
	b.Work()
	require.Empty(t, b.Rail.Orders, "time approves nothing")
	for _, who := range []string{"ann", "cid"} {
		_, err := approve(t, b, who, payout)
		require.NoError(t, err)
	}
	b.Work()
	require.Equal(t, other.ID, *only(t, b, claim).PayoutMethodID)
	require.Len(t, b.Rail.Orders, 1)
}

func TestAChangedAccountWaitsADayOrForOneApproval(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	b.Record(modeltest.IBAN(claim.ID))
	b.Verify()
	_, err := approve(t, b, "ann", only(t, b, claim))
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code, "it needs nobody's approval")
	b.Record(british(claim.ID))
	b.Work()
	payout := only(t, b, claim)
	require.Equal(t, "pending", payout.Status)
	b.Record(british(claim.ID))
	b.After(23 * time.Hour)
	b.Sweep()
	b.Work()
	require.Empty(t, b.Rail.Orders, "recorded again it still is another account")
	_, err = b.Service.ReleasePayout(t.Context(), operator("ann"), model.ReleaseRequest{PayoutID: payout.ID})
	require.Equal(t, model.CodeStateConflict, failure(t, err).Code)
	_, err = approve(t, b, "ann", payout)
	require.NoError(t, err)
	b.Work()
	require.Equal(t, "released", only(t, b, claim).Status)
	require.Equal(t, "GB29NWBK60161331926819", b.Rail.Orders[0].Number.IBAN.IBAN)
}

// TestAnAccountOfThePolicyThatStepsInWaitsToo brings another account in by the back door:
// as the policy's, which is the first of its kind, and then takes the claim's own away.
func TestAnAccountOfThePolicyThatStepsInWaitsToo(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := owed(b)
	b.Record(modeltest.IBAN(claim.ID))
	b.Verify()
	other := british(claim.ID)
	other.ClaimID, other.PolicyID = nil, &claim.PolicyID
	b.Record(other)
	b.Verify()
	third := modeltest.IBAN(claim.ID)
	third.Number.IBAN.IBAN = "DE14370400440000000002"
	b.Rail.Verify = func(*model.Payee) (bool, string) { return false, "account_closed" }
	b.Record(third)
	b.Work()
	require.Empty(t, b.Rail.Orders)
	payout := only(t, b, claim)
	require.Equal(t, "pending", payout.Status)
	require.WithinDuration(t, b.Now().Add(24*time.Hour), *payout.NextAttemptAt, time.Minute)
}

func TestManyApproversAtOnceLeaveTwoApprovals(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := costly(b)
	payout := only(t, b, claim)
	var given atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		for _, who := range []string{"ann", "ben", "cid"} {
			all.Go(func() {
				if _, err := approve(t, b, who, payout); err == nil {
					given.Add(1)
				} else if model.CodeOf(err) != model.CodeStateConflict {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	require.Equal(t, int64(2), given.Load())
	require.Equal(t, 2, b.Rows()["payout_approvals"])
	b.Work()
	require.Len(t, b.Rail.Orders, 1)
}

func TestFiftyDecisionsAtOnceLeaveOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.Cover("quake-circle", nil)
	claim, _, err := b.Service.OpenClaim(t.Context(), b.Acme, model.ClaimRequest{PolicyID: policy.ID, RequestedAmount: amount(125_000)})
	require.NoError(t, err)
	soon := b.Now().Add(time.Hour)
	var decided atomic.Int64
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			actor := b.Operator
			actor.Condition = model.AtVersion(claim.ID, claim.Version)
			in := model.DecisionRequest{ClaimID: claim.ID, Outcome: model.ClaimApproved}
			if i%2 == 0 {
				in.Outcome, in.NextReviewAt = model.ClaimDeferred, &soon
			}
			if _, err := b.Service.DecideClaim(t.Context(), actor, in); err == nil {
				decided.Add(1)
			} else if code := model.CodeOf(err); code != model.CodeStateConflict && code != model.CodeVersionMismatch {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(1), decided.Load())
	require.LessOrEqual(t, len(b.Claim(claim.ID).Payouts), 1)
}
