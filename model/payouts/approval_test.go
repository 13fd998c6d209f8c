package payouts_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
	"parapet/model/payouts"
)

func TestPayoutAboveLimitNeedsTwoApprovals(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewClaimAboveApprovalLimit(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "approval_required", *payout.BlockedReason)
	lacking := func() {
		_, err := b.Service.Payouts.Release(t.Context(), modeltest.OperatorNamed("ann"), payouts.ReleaseRequest{PayoutID: payout.ID})
		require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	}
	lacking()
	first, err := modeltest.ApprovePayoutAs(t, b, "ann", payout)
	require.NoError(t, err)
	require.Equal(t, payout, *first, "one approval changes nothing that a partner sees")
	_, err = modeltest.ApprovePayoutAs(t, b, "ann", payout)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "one operator approves only once")
	lacking()
	states, err := b.Service.Payouts.ApprovalsOf(t.Context(), b.Operator, []string{payout.ID})
	require.NoError(t, err)
	state := states[payout.ID]
	require.Equal(t, 2, state.Required)
	require.Len(t, state.Approvals, 1)
	require.True(t, state.Approvals[0].Valid)
	_, err = b.Service.Payouts.ApprovalsOf(t.Context(), b.Acme, []string{payout.ID})
	require.Equal(t, apperr.CodeInsufficientScope, modeltest.DomainError(t, err).Code, "partners do not see who approved")
	_, err = b.Service.Payouts.Approve(t.Context(), modeltest.OperatorNamed("ben"), payouts.ApprovalRequest{PayoutID: payout.ID, Digest: "other"})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "the digest differs from the one shown")
	second, err := b.Service.Payouts.Approve(t.Context(), modeltest.OperatorNamed("ben"), payouts.ApprovalRequest{PayoutID: payout.ID, Digest: *state.Digest})
	require.NoError(t, err)
	require.Equal(t, "pending", second.Status)
	_, err = modeltest.ApprovePayoutAs(t, b, "cid", payout)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	again, err := b.Service.Payouts.Release(t.Context(), modeltest.OperatorNamed("ann"), payouts.ReleaseRequest{PayoutID: payout.ID})
	require.NoError(t, err)
	require.Equal(t, "released", again.Status)
	_, err = b.DB.Pool.Exec(t.Context(), "update payout_approvals set author = 'eve'")
	require.ErrorContains(t, err, "insert-only")
	_, err = b.DB.Pool.Exec(t.Context(), "delete from payout_approvals")
	require.ErrorContains(t, err, "insert-only")
}

func TestChangedPayoutMethodVoidsApprovals(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewClaimAboveApprovalLimit(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	for _, who := range []string{"ann", "ben"} {
		_, err := modeltest.ApprovePayoutAs(t, b, who, payout)
		require.NoError(t, err)
	}
	require.Equal(t, "pending", modeltest.OnlyPayout(t, b, claim).Status)
	other := b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	b.RunAccountChecks()
	payout = modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "approval_required", *payout.BlockedReason)
	require.Empty(t, b.Rail.Orders)
	states, err := b.Service.Payouts.ApprovalsOf(t.Context(), b.Operator, []string{payout.ID})
	require.NoError(t, err)
	state := states[payout.ID]
	require.Len(t, state.Approvals, 2)
	require.False(t, state.Approvals[0].Valid || state.Approvals[1].Valid)
	b.AdvanceClock(48 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Empty(t, b.Rail.Orders, "waiting does not approve it")
	for _, who := range []string{"ann", "cid"} {
		_, err := modeltest.ApprovePayoutAs(t, b, who, payout)
		require.NoError(t, err)
	}
	b.RunJobs()
	require.Equal(t, other.ID, *modeltest.OnlyPayout(t, b, claim).PayoutMethodID)
	require.Len(t, b.Rail.Orders, 1)
}

func TestChangedPayoutMethodCoolsOffOneDayOrUntilApproved(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	_, err := modeltest.ApprovePayoutAs(t, b, "ann", modeltest.OnlyPayout(t, b, claim))
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "it needs no approval")
	b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	b.RunJobs()
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "pending", payout.Status)
	b.RecordPayoutMethod(modeltest.BritishIBAN(claim.ID))
	b.AdvanceClock(23 * time.Hour)
	b.Sweep()
	b.RunJobs()
	require.Empty(t, b.Rail.Orders, "recorded again, it is still another account")
	_, err = b.Service.Payouts.Release(t.Context(), modeltest.OperatorNamed("ann"), payouts.ReleaseRequest{PayoutID: payout.ID})
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	_, err = modeltest.ApprovePayoutAs(t, b, "ann", payout)
	require.NoError(t, err)
	b.RunJobs()
	require.Equal(t, "released", modeltest.OnlyPayout(t, b, claim).Status)
	require.Equal(t, "GB29NWBK60161331926819", b.Rail.Orders[0].Number.IBAN.IBAN)
}

// TestPolicyPayoutMethodThatReplacesClaimMethodCoolsOff adds another account as the
// policy's first method and then removes the claim's own, so that the new account
// replaces it indirectly.
func TestPolicyPayoutMethodThatReplacesClaimMethodCoolsOff(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewApprovedClaim(b)
	b.RecordPayoutMethod(modeltest.IBANMethod(claim.ID))
	b.RunAccountChecks()
	other := modeltest.BritishIBAN(claim.ID)
	other.ClaimID, other.PolicyID = nil, &claim.PolicyID
	b.RecordPayoutMethod(other)
	b.RunAccountChecks()
	third := modeltest.IBANMethod(claim.ID)
	third.Number.IBAN.IBAN = "DE14370400440000000002"
	b.Rail.Verify = func(*payouts.PayeeAccount) (bool, string) { return false, "account_closed" }
	b.RecordPayoutMethod(third)
	b.RunJobs()
	require.Empty(t, b.Rail.Orders)
	payout := modeltest.OnlyPayout(t, b, claim)
	require.Equal(t, "pending", payout.Status)
	require.WithinDuration(t, b.Now().Add(24*time.Hour), *payout.NextAttemptAt, time.Minute)
}

func TestConcurrentApprovalsStoreTwo(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	claim := modeltest.NewClaimAboveApprovalLimit(b)
	payout := modeltest.OnlyPayout(t, b, claim)
	var given atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		for _, who := range []string{"ann", "ben", "cid"} {
			all.Go(func() {
				if _, err := modeltest.ApprovePayoutAs(t, b, who, payout); err == nil {
					given.Add(1)
				} else if apperr.CodeOf(err) != apperr.CodeStateConflict {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	require.Equal(t, int64(2), given.Load())
	require.Equal(t, 2, b.CountRows()["payout_approvals"])
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
}

func TestConcurrentDecisionsApplyOne(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	claim, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID, RequestedAmount: modeltest.NewUSD(125_000)})
	require.NoError(t, err)
	soon := b.Now().Add(time.Hour)
	var decided atomic.Int64
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			caller := b.Operator
			caller.Precondition = actor.RequireVersion(claim.ID, claim.Version)
			in := adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimApproved}
			if i%2 == 0 {
				in.Outcome, in.NextReviewAt = claims.ClaimDeferred, &soon
			}
			if _, err := b.Service.Adjudication.Decide(t.Context(), caller, in); err == nil {
				decided.Add(1)
			} else if code := apperr.CodeOf(err); code != apperr.CodeStateConflict && code != apperr.CodeVersionMismatch {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(1), decided.Load())
	require.LessOrEqual(t, len(b.Claim(claim.ID).Payouts), 1)
}
