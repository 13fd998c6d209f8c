package model_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

// notice lets the rail say on its own that it paid under a key, and reports whether the
// key was ever given to it.
func notice(t *testing.T, b *modeltest.Bundle, key string) bool {
	t.Helper()
	sent, err := b.Service.SentOrders(t.Context(), modeltest.ScriptedRail, []string{key})
	require.NoError(t, err)
	if sent[key] == nil {
		return false
	}
	_, err = b.Service.EndRelease(t.Context(), modeltest.RailName, sent[key], model.RailAnswer{Outcome: model.OutcomeAccepted, Reference: "late"})
	require.NoError(t, err)
	return true
}

// notice sends the rail's notice that it paid under one of the keys. What a report said of
// a key stands above it, and a later refusal takes it back.
func (s *chainStory) notice() {
	key := s.RailKey(s.first.ID, 1+s.random.IntN(len(s.Claim(s.claim.ID).Payouts)+2))
	known := notice(s.t, s.Bundle, key)
	s.steps = append(s.steps, fmt.Sprintf("%s accepted by notice: %v", key[len(key)-1:], known))
	if known && !s.reported[key] {
		s.promised[key] = true
	}
}

func TestNoticeOfCancelledPayoutBlocksItsReplacement(t *testing.T) {
	t.Parallel()
	b, claim, first := newPayoutWithAnswer(t, modeltest.Mismatched)
	must(resolvePayout(t, b, first, model.PayoutCancelled, "", false))
	b.Rail.Answer = nil
	must(approvePayoutAs(t, b, "ann", b.Claim(claim.ID).Payouts[1]))
	require.True(t, notice(t, b, b.RailKey(first.ID, 1)))
	second := b.Claim(claim.ID).Payouts[1]
	require.Equal(t, "rail_mismatch", *second.BlockedReason)
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 1)
	require.Contains(t, findings(t, b), "contradiction")
	_, err := resolvePayout(t, b, second, model.PayoutCancelled, "", false)
	require.Equal(t, apperr.CodeStateConflict, domainError(t, err).Code, "what is paid is not paid again")
	must(resolvePayout(t, b, second, model.PayoutCancelled, "", true))
	require.Equal(t, "closed", b.Claim(claim.ID).Status)
}

// returnedUnderSecondKey is a claim whose payout was refused under its first key, paid under the
// second one and returned; what replaces it has its approval.
func returnedUnderSecondKey(t *testing.T) (b *modeltest.Bundle, claim, first string) {
	t.Helper()
	b, owed, payout := newPayoutWithAnswer(t, modeltest.Refused)
	b.Rail.Answer = nil
	b.RecordPayoutMethod(modeltest.IBANMethod(owed.ID))
	b.RunJobs()
	back := line(b, payout, "returned")
	back.Key = b.RailKey(payout.ID, 2)
	require.Equal(t, map[string]int{"returned": 1}, reconcile(t, b, "back", back).Results)
	must(approvePayoutAs(t, b, "ann", b.Claim(owed.ID).Payouts[1]))
	require.Equal(t, "pending", b.Claim(owed.ID).Payouts[1].Status)
	return b, owed.ID, payout.ID
}

func TestNoticeOfRefusedKeyBlocksTheReplacementOfAReturnedPayout(t *testing.T) {
	t.Parallel()
	b, claim, first := returnedUnderSecondKey(t)
	require.True(t, notice(t, b, b.RailKey(first, 1)))
	require.Equal(t, "rail_mismatch", *b.Claim(claim).Payouts[1].BlockedReason)
	b.RunJobs()
	require.Len(t, b.Rail.Orders, 2)
}

// TestRepeatedNoticeAfterAReportedReturnBlocksNothing pays under a key that was refused,
// gets it back, and hears the old notice again.
func TestRepeatedNoticeAfterAReportedReturnBlocksNothing(t *testing.T) {
	t.Parallel()
	b, claim, first := returnedUnderSecondKey(t)
	require.True(t, notice(t, b, b.RailKey(first, 1)))
	back := line(b, b.Claim(claim).Payouts[0], "returned")
	back.Key, back.At = b.RailKey(first, 1), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, map[string]int{"state": 1}, reconcile(t, b, "the first key came back", back).Results)
	must(resolvePayout(t, b, b.Claim(claim).Payouts[1], model.PayoutCancelled, "", false))
	must(approvePayoutAs(t, b, "ann", b.Claim(claim).Payouts[2]))
	require.True(t, notice(t, b, b.RailKey(first, 1)))
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
	sent := must(b.Service.SentOrders(t.Context(), modeltest.ScriptedRail, []string{key}))
	ended := must(b.Service.EndRelease(t.Context(), modeltest.RailName, sent[key], modeltest.Mismatched))
	require.True(t, ended.Mismatch)
	require.Equal(t, "rail_mismatch", *b.Claim(claim).Payouts[1].BlockedReason)
	must(resolvePayout(t, b, b.Claim(claim).Payouts[1], model.PayoutCancelled, "", false))
	require.Equal(t, "approval_required", *b.Claim(claim).Payouts[2].BlockedReason)
}

// TestNoticeOfAMismatchedPayoutForbidsToPayItAgain hears that the rail paid what was
// ordered after all.
func TestNoticeOfAMismatchedPayoutForbidsToPayItAgain(t *testing.T) {
	t.Parallel()
	b, claim, first := newPayoutWithAnswer(t, modeltest.Mismatched)
	require.True(t, notice(t, b, b.RailKey(first.ID, 1)))
	must(resolvePayout(t, b, only(t, b, claim), model.PayoutCancelled, "", false))
	require.Equal(t, "rail_mismatch", *b.Claim(claim.ID).Payouts[1].BlockedReason)
}
