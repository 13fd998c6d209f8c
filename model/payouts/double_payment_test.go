package payouts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/payouts"
)

// TestPayoutsOfMergedClaimsAreComparedWithoutTheFirst merges three claims of which the
// first has paid nothing and never will: of the other two the later payout is reported.
func TestPayoutsOfMergedClaimsAreComparedWithoutTheFirst(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("quake-circle", nil)
	b.RecordPayoutMethod(modeltest.PolicyIBANMethod(policy.ID))
	at := b.Now()
	b.AdvanceClock(10 * time.Minute)
	for i, id := range []string{"us1", "us2", "us3"} {
		b.Observe(modeltest.Quake(id, at.Add(time.Duration(i)*2*time.Minute), modeltest.Epicentre, "6.4"))
		b.RunJobs()
	}
	claims := b.Claims(policy)
	write := func(status string, released *time.Time) {
		_, err := b.DB.Pool.Exec(t.Context(), "update payouts set status = $1, released_at = $2 where id = (select id from payouts order by id limit 1)", status, released)
		require.NoError(t, err)
	}
	write("cancelled", nil)
	joined := modeltest.Quake("us1", at, modeltest.Epicentre, "6.4")
	joined.Aliases = []string{"us2", "us3"}
	b.Observe(joined)
	b.RunJobs()
	write("released", claims[0].Payouts[0].ReleasedAt)

	exceptions := modeltest.Must(b.Service.Reconciliation.ListExceptions(t.Context(), b.Operator, false, store.PageRequest{})).Data
	require.Len(t, exceptions, 1)
	require.Equal(t, payouts.ExceptionPaidTwice, exceptions[0].Kind)
	require.Equal(t, claims[2].Payouts[0].ID, *exceptions[0].PayoutID)
	require.Equal(t, claims[1].Payouts[0].ID, *exceptions[0].RelatedPayoutID)
}
