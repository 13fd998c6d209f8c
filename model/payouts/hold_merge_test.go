package payouts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/kernel/apperr"
	"parapet/model/modeltest"
)

// TestPendingPayoutOfAMergedClaimIsHeld merges two approved claims while releases are
// stopped.
func TestPendingPayoutOfAMergedClaimIsHeld(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	b.RunJobs()
	modeltest.StopReleases(t, b)
	at := b.Now()
	b.AdvanceClock(10 * time.Minute)
	for i, id := range []string{"us1", "us2"} {
		b.Observe(modeltest.Quake(id, at.Add(time.Duration(i)*2*time.Minute), modeltest.Epicentre, "6.4"))
		b.RunJobs()
	}
	for _, claim := range b.Claims(policy) {
		require.Equal(t, "pending", modeltest.OnlyPayout(t, b, claim).Status)
	}
	joined := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")
	joined.Aliases = []string{"us2"}
	b.Observe(joined)
	b.RunJobs()
	states := map[string]int{}
	for _, claim := range b.Claims(policy) {
		payout := modeltest.OnlyPayout(t, b, claim)
		if payout.BlockedReason != nil {
			payout.Status += " " + *payout.BlockedReason
		}
		states[payout.Status]++
	}
	require.Equal(t, map[string]int{"pending": 1, "blocked compliance_hold": 1}, states)
}

func TestPayoutWithMismatchIsNotSettledExternally(t *testing.T) {
	t.Parallel()
	b, _, payout := modeltest.NewPayoutWithAnswer(t, modeltest.Mismatched)
	require.Equal(t, string(claims.BlockedRailMismatch), *payout.BlockedReason)
	_, err := settleExternally(t, b, "ann", "bank-7", payout)
	require.Equal(t, apperr.CodeStateConflict, modeltest.DomainError(t, err).Code)
	require.Contains(t, modeltest.DomainError(t, err).Detail, "resolve it by evidence")
}
