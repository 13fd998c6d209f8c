package pricing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/quoting/pricing"
)

// TestCoverOfTwoSeasonsCostsBoth prices a cover from the middle of a season to the middle of
// the next one: it weighs what a cover of its first part and one of its last part weigh.
func TestCoverOfTwoSeasonsCostsBoth(t *testing.T) {
	t.Parallel()
	heat, par := isOffered(t, "heat-days")
	heat.Payout = trigger.Payout{Shape: trigger.Linear, Attach: new(mustDecimal("0")), Exhaust: new(mustDecimal("60"))}
	price := func(start time.Time, term string) pricing.Basis {
		c := heat
		c.StartsAt, c.Term = &start, term
		_, basis, past, err := pricing.Burn(c, par, hazard.Shipped(), start)
		require.NoError(t, err)
		require.Len(t, past, basis.PayingEvents)
		events, err := pricing.ReweighEvents(c, basis, past, hazard.Shipped())
		require.NoError(t, err)
		require.Len(t, events, basis.WeighedEvents)
		return basis
	}
	july := time.Date(2027, time.July, 17, 0, 0, 0, 0, time.UTC)
	both := price(july, "P364D")
	first := price(july, "P90D")
	last := price(time.Date(2028, time.May, 15, 0, 0, 0, 0, time.UTC), "P61D") // until the end of the other; it waits before June
	require.NotZero(t, first.WeighedEvents)
	require.NotZero(t, last.WeighedEvents)
	require.Equal(t, first.WeighedEvents+last.WeighedEvents, both.WeighedEvents)
	require.True(t, both.AnnualShareSum.Equal(first.AnnualShareSum.Add(last.AnnualShareSum)), "%s is not %s + %s", both.AnnualShareSum, first.AnnualShareSum, last.AnnualShareSum)
}
