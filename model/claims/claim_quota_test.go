package claims_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims/adjudication"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
)

const approvalQuota = 20

func TestPolicyTakesTwentyClaimsOfOriginApprovalInADay(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy, other := b.QuoteAndBind("quake-circle", nil), b.QuoteAndBind("quake-circle", nil)
	first := openForApproval(b, policy)
	b.AdvanceClock(time.Hour)
	for range approvalQuota - 1 {
		openForApproval(b, policy)
	}
	_, err := b.Service.Adjudication.Withdraw(t.Context(), b.Operator, adjudication.WithdrawalRequest{ClaimID: first.ID})
	require.NoError(t, err)
	open := func() error {
		_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID})
		return err
	}
	refused := modeltest.DomainError(t, open())
	require.Equal(t, apperr.CodeRateLimited, refused.Code)
	require.Equal(t, policy.ID, refused.ResourceID)
	require.InDelta(t, (23 * time.Hour).Seconds(), refused.RetryAfter.Seconds(), 60, "until the first of them is a day old")
	openForApproval(b, other)

	b.Observe(modeltest.Quake("us1", b.Now(), modeltest.Hualien, "6.5"))
	b.RunJobs()
	require.EqualValues(t, approvalQuota+1, b.Policy(policy.ID).ClaimsCount, "trigger claims have no quota")
	require.Equal(t, apperr.CodeRateLimited, modeltest.DomainError(t, open()).Code)

	b.AdvanceClock(refused.RetryAfter)
	openForApproval(b, policy)
	require.Equal(t, apperr.CodeRateLimited, modeltest.DomainError(t, open()).Code, "nineteen of the others are not a day old")
	require.EqualValues(t, approvalQuota+2, b.Policy(policy.ID).ClaimsCount)
}

func TestReplayedClaimCountsOnceForTheQuota(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	actor := modeltest.WithKey(b.Acme, "k1", "a")
	actor.IdempotencyKey.Operation = "POST /v1/claims"
	replayed := 0
	for range approvalQuota + 5 {
		_, _, err := b.Service.Adjudication.Open(t.Context(), actor, adjudication.ClaimRequest{PolicyID: policy.ID})
		if replay := new(store.Replay); errors.As(err, &replay) {
			replayed++
			continue
		}
		require.NoError(t, err)
	}
	require.Equal(t, approvalQuota+4, replayed)
	for range approvalQuota - 1 {
		openForApproval(b, policy)
	}
	require.EqualValues(t, approvalQuota, b.Policy(policy.ID).ClaimsCount)
	_, _, err := b.Service.Adjudication.Open(t.Context(), actor, adjudication.ClaimRequest{PolicyID: policy.ID})
	require.ErrorAs(t, err, new(*store.Replay), "a replay is answered beyond the quota")
}

func TestConcurrentRequestsForApprovalStayWithinTheQuota(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	for range approvalQuota - 2 {
		openForApproval(b, policy)
	}
	const racers = 6
	done := make(chan error, racers)
	for range racers {
		go func() {
			_, _, err := b.Service.Adjudication.Open(t.Context(), b.Acme, adjudication.ClaimRequest{PolicyID: policy.ID})
			done <- err
		}()
	}
	refused := 0
	for range racers {
		if err := <-done; err != nil {
			require.Equal(t, apperr.CodeRateLimited, modeltest.DomainError(t, err).Code)
			refused++
		}
	}
	require.Equal(t, racers-2, refused)
	require.EqualValues(t, approvalQuota, b.Policy(policy.ID).ClaimsCount)
}
