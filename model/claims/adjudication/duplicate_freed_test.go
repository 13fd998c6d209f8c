package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/claims"
	"parapet/model/claims/adjudication"
	"parapet/model/hazard/trigger"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// observeDuplicates reports one earthquake under two ids of one source: the first report
// is preliminary and its claim waits for the source, the second one is final and its
// claim waits as a possible duplicate.
func observeDuplicates(b *modeltest.Bundle) *wire.Policy {
	policy := b.QuoteAndBind("quake-circle", nil)
	at := b.Now()
	b.AdvanceClock(time.Minute)
	first := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")
	first.Stage = trigger.Preliminary
	b.Observe(first)
	b.RunJobs()
	b.Observe(modeltest.Quake("us2", at.Add(2*time.Second), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	return policy
}

// TestPossibleDuplicateIsDecidedWhenTheOtherClaimStopsCounting ends the first claim in
// every possible way.
func TestPossibleDuplicateIsDecidedWhenTheOtherClaimStopsCounting(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*modeltest.Bundle, *wire.Claim){
		"its readings are retracted": func(b *modeltest.Bundle, _ *wire.Claim) { b.Observe(modeltest.NewRetraction("us1")) },
		"the partner withdraws it": func(b *modeltest.Bundle, claim *wire.Claim) {
			_, err := b.Service.Adjudication.Withdraw(t.Context(), b.Acme, adjudication.WithdrawalRequest{ClaimID: claim.ID})
			require.NoError(t, err)
		},
		"an operator declines it": func(b *modeltest.Bundle, claim *wire.Claim) {
			_, err := b.Service.Adjudication.Decide(t.Context(), b.Operator, adjudication.DecisionRequest{ClaimID: claim.ID, Outcome: claims.ClaimDeclined})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := modeltest.New(t)
			policy := observeDuplicates(b)
			claims := b.Claims(policy)
			require.Equal(t, []string{"source_preliminary"}, claims[0].Decision.ReasonCodes)
			require.Equal(t, []string{"duplicate_event"}, claims[1].Decision.ReasonCodes)
			b.AdvanceClock(time.Minute)
			end(b, claims[0])
			b.RunJobs()
			require.Equal(t, "approved", b.Claims(policy)[1].Status)
			require.Equal(t, *modeltest.NewUSD(8_000_000), b.Policy(policy.ID).LimitRemaining)
		})
	}
}

// TestOnePossibleDuplicateIsPaidOfSeveral has three ids of one earthquake: when the first
// claim ends, the second is paid and the third waits.
func TestOnePossibleDuplicateIsPaidOfSeveral(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := observeDuplicates(b)
	b.Observe(modeltest.Quake("us3", b.Now().Add(-50*time.Second), modeltest.Epicentre, "6.4"))
	b.RunJobs()
	b.AdvanceClock(time.Minute)
	b.Observe(modeltest.NewRetraction("us1"))
	b.RunJobs()
	var status []string
	for _, claim := range b.Claims(policy) {
		status = append(status, claim.Status)
	}
	require.Equal(t, []string{"declined", "approved", "deferred"}, status)
	require.Equal(t, *modeltest.NewUSD(8_000_000), b.Policy(policy.ID).LimitRemaining, "one event is paid once")
}

// TestOperatorsDeferralOutlivesARevision defers a claim as a duplicate that the rules do
// not find: a revision by the source decides nothing.
func TestOperatorsDeferralOutlivesARevision(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	quake := modeltest.ObserveQuake(b, "us1", "6.4", trigger.Preliminary)
	decideClaim(t, b, deferralDecision(b, b.OnlyClaim(policy), claims.ReasonDuplicateEvent))
	quake.Stage = trigger.Final
	b.Observe(quake)
	b.RunJobs()
	require.Equal(t, "deferred", b.OnlyClaim(policy).Status)
}
