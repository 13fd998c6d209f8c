package adjudication_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/modeltest"
)

func TestRainExcessPaysNothingInItsFirstSevenDays(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t, modeltest.WithShippedProducts())
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 1})
	require.Equal(t, "P7D", policy.Cover.WaitingPeriod)
	require.Equal(t, "waiting", policy.CoverPhase)
	b.AdvanceClock(12 * 24 * time.Hour)
	require.Equal(t, "in_force", b.Policy(policy.ID).CoverPhase)
	first := modeltest.FirstWholeDay(policy.EffectiveAt.AddDate(0, 0, 7))
	modeltest.ObserveRain(b, policy, first.AddDate(0, 0, -1), "180", "0", "0", "0", "0")
	require.Empty(t, b.Claims(policy), "the last day that touches the waiting period")
	modeltest.ObserveRain(b, policy, first, "180")
	claim := b.OnlyClaim(policy)
	require.Equal(t, "approved", claim.Status, "the first day after it")
	require.Equal(t, "180", claim.Determination.Index.Value, "the day before is of the same spell and does not count")
}
