package release_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

func TestNoticeOfCancelledPayoutBlocksItsReplacement(t *testing.T) {
	t.Parallel()
	b, claim, first := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
	modeltest.Must(modeltest.ResolvePayout(t, b, first, claims.PayoutCancelled, "", false))
	b.Rail.Answer = nil
	modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", b.Claim(claim.ID).Payouts[1]))
	require.True(t, modeltest.ReportRailPayment(t, b, b.RailKey(first.ID, 1)))
	second := b.Claim(claim.ID).Payouts[1]
	require.Equal(t, "rail_mismatch", *second.BlockedReason)
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
	require.Contains(t, modeltest.OpenExceptions(t, b), "contradiction")
	_, err := modeltest.ResolvePayout(t, b, second, claims.PayoutCancelled, "", false)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code, "what is paid is not paid again")
	modeltest.Must(modeltest.ResolvePayout(t, b, second, claims.PayoutCancelled, "", true))
	require.Equal(t, "closed", b.Claim(claim.ID).Status)
}

// returnedUnderSecondKey is a claim whose payout was refused under its first key, paid under the
// second one and returned; what replaces it has its approval.
func returnedUnderSecondKey(t *testing.T) (b *modeltest.Bundle, claim, first string) {
	t.Helper()
	b, owed, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Refused)
	b.Rail.Answer = nil
	b.RecordPayoutMethod(modeltest.IBANMethod(owed.ID))
	b.RunJobs()
	back := modeltest.ReportLine(b, payout, "returned")
	back.Key = b.RailKey(payout.ID, 2)
	require.Equal(t, map[string]int{"returned": 1}, modeltest.Reconcile(t, b, "back", back).Results)
	modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", b.Claim(owed.ID).Payouts[1]))
	require.Equal(t, "pending", b.Claim(owed.ID).Payouts[1].Status)
	return b, owed.ID, payout.ID
}

func TestNoticeOfRefusedKeyBlocksTheReplacementOfAReturnedPayout(t *testing.T) {
	t.Parallel()
	b, claim, first := returnedUnderSecondKey(t)
	require.True(t, modeltest.ReportRailPayment(t, b, b.RailKey(first, 1)))
	require.Equal(t, "rail_mismatch", *b.Claim(claim).Payouts[1].BlockedReason)
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 2)
}

// TestRepeatedNoticeAfterAReportedReturnBlocksNothing pays under a key that was refused,
// gets it back, and hears the old notice again.
func TestRepeatedNoticeAfterAReportedReturnBlocksNothing(t *testing.T) {
	t.Parallel()
	b, claim, first := returnedUnderSecondKey(t)
	require.True(t, modeltest.ReportRailPayment(t, b, b.RailKey(first, 1)))
	back := modeltest.ReportLine(b, b.Claim(claim).Payouts[0], "returned")
	back.Key, back.At = b.RailKey(first, 1), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, map[string]int{"state": 1}, modeltest.Reconcile(t, b, "the first key came back", back).Results)
	modeltest.Must(modeltest.ResolvePayout(t, b, b.Claim(claim).Payouts[1], claims.PayoutCancelled, "", false))
	modeltest.Must(modeltest.ApprovePayoutAs(t, b, "ann", b.Claim(claim).Payouts[2]))
	require.True(t, modeltest.ReportRailPayment(t, b, b.RailKey(first, 1)))
	require.Equal(t, "pending", b.Claim(claim).Payouts[2].Status)
	b.RunJobs()
	require.Equal(t, "released", b.Claim(claim).Payouts[2].Status)
}

// TestNoticeOfAnotherAmountUnderARefusedKeyBlocksTheReplacement leaves the decision to an
// operator, who may cancel the replacement to have it paid again.
func TestNoticeOfAnotherAmountUnderARefusedKeyBlocksTheReplacement(t *testing.T) {
	t.Parallel()
	b, claim, first := returnedUnderSecondKey(t)
	key := b.RailKey(first, 1)
	sent := modeltest.Must(b.Service.Releases.SentOrders(t.Context(), modeltest.ScriptedRail, []string{key}))
	ended := modeltest.Must(b.Service.Releases.EndRelease(t.Context(), modeltest.RailName, sent[key], modeltest.Mismatched))
	require.True(t, ended.Mismatch)
	require.Equal(t, "rail_mismatch", *b.Claim(claim).Payouts[1].BlockedReason)
	modeltest.Must(modeltest.ResolvePayout(t, b, b.Claim(claim).Payouts[1], claims.PayoutCancelled, "", false))
	require.Equal(t, "approval_required", *b.Claim(claim).Payouts[2].BlockedReason)
}

// TestNoticeOfAMismatchedPayoutForbidsToPayItAgain hears that the rail paid what was
// ordered after all.
func TestNoticeOfAMismatchedPayoutForbidsToPayItAgain(t *testing.T) {
	t.Parallel()
	b, claim, first := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
	require.True(t, modeltest.ReportRailPayment(t, b, b.RailKey(first.ID, 1)))
	modeltest.Must(modeltest.ResolvePayout(t, b, modeltest.OnlyPayout(t, b, claim), claims.PayoutCancelled, "", false))
	require.Equal(t, "rail_mismatch", *b.Claim(claim.ID).Payouts[1].BlockedReason)
}
