package pricing_test

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
	"parapet/model/quoting/pricing"
)

func mustDecimal(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// quakeCover returns a 50 km circle with typical steps.
func quakeCover(latitude, longitude float64) trigger.Cover {
	return trigger.Cover{
		Limit: money.New(10_000_000, "USD"), Term: "P365D",
		Place: trigger.Place{Kind: trigger.Circle, Latitude: latitude, Longitude: longitude, RadiusKM: 50},
		Trigger: trigger.Trigger{
			Kind: trigger.Earthquake, Index: "magnitude", Unit: "mw",
			Direction: trigger.AtLeast, DecidesOn: trigger.Final,
		},
		Payout: trigger.Payout{Shape: trigger.Step, Steps: []trigger.Rung{
			{Threshold: mustDecimal("6.0"), Factor: mustDecimal("0.20")},
			{Threshold: mustDecimal("6.5"), Factor: mustDecimal("0.50")},
			{Threshold: mustDecimal("7.0"), Factor: mustDecimal("1.00")},
		}},
	}
}

func cycloneCover() trigger.Cover {
	c := quakeCover(25.7617, -80.1918)
	c.Trigger = trigger.Trigger{
		Kind: trigger.Windstorm, Index: "sustained_wind", Unit: "kn", Direction: trigger.AtLeast,
		DecidesOn: trigger.Final, Wind: trigger.LargerOfEnds, MaximumGapHours: 24,
	}
	c.Payout.Steps = []trigger.Rung{{Threshold: mustDecimal("64"), Factor: mustDecimal("0.2")}, {Threshold: mustDecimal("113"), Factor: mustDecimal("1")}}
	return c
}

func loadings() pricing.Parameters {
	return pricing.Parameters{
		UncertaintyFactor: mustDecimal("0.5"), RiskFactor: mustDecimal("0.1"), ExpenseShare: mustDecimal("0.10"), CommissionShare: mustDecimal("0.15"),
		MinimumPremium: 2500, MaximumRateOnLine: mustDecimal("0.35"), SmoothingKM: mustDecimal("50"),
	}
}

func TestBurnAtHualien(t *testing.T) {
	t.Parallel()
	price, basis, history, err := pricing.Burn(quakeCover(23.98, 121.61), loadings(), hazard.Shipped(), asOf)
	require.NoError(t, err)
	require.Equal(t, pricing.Formula, basis.Formula)
	require.Equal(t, hazard.Shipped().QuakeData().Digest, basis.DatasetDigest)
	require.Equal(t, 58, basis.Years)
	require.Equal(t, 93, basis.WeighedEvents)
	require.Equal(t, len(history), basis.PayingEvents)
	require.Equal(t, "0.0625", basis.PriorShare.String(), "(50/200)²")
	require.Equal(t, "1", basis.SeasonShare.String())
	require.Equal(t, "1", basis.LargestFactor.String())
	require.InDelta(t, 0.145, price.RateOnLine.InexactFloat64(), 0.001)
	require.Nil(t, basis.Season)
	require.Nil(t, basis.MeanSeverity)
	require.True(t, slices.IsSortedFunc(history, func(a, b pricing.PastEvent) int { return b.OccurredAt.Compare(a.OccurredAt) }))
	for _, past := range history {
		require.True(t, decimal.RequireFromString(past.Index.Value).GreaterThanOrEqual(mustDecimal("6.0")))
		require.LessOrEqual(t, *past.DistanceKM, 50.0)
	}
}

func TestBurnWhereNothingHappened(t *testing.T) {
	t.Parallel()
	price, basis, history, err := pricing.Burn(quakeCover(52.52, 13.40), loadings(), hazard.Shipped(), asOf)
	require.NoError(t, err)
	require.Empty(t, history)
	require.NotNil(t, history, "an empty list, not null")
	require.Zero(t, basis.WeighedEvents)
	require.Equal(t, "0.000538793103", basis.EventRate.String(), "0.0625/2/58")
	require.Equal(t, "1856", basis.ReturnPeriodYears.String())
	require.Positive(t, price.Premium.Amount)
}

func TestBurnKeepsTheMinimumPremium(t *testing.T) {
	t.Parallel()
	par := loadings()
	par.MinimumPremium = 100_000
	price, _, _, err := pricing.Burn(quakeCover(52.52, 13.40), par, hazard.Shipped(), asOf)
	require.NoError(t, err)
	require.Equal(t, money.New(100_000, "USD"), price.Premium)
	last := price.Lines[len(price.Lines)-1]
	require.Equal(t, pricing.MinimumPremium, last.Kind)
	sum := int64(0)
	for _, line := range price.Lines {
		sum += line.Amount.Amount
	}
	require.Equal(t, price.Premium.Amount, sum)
}

func TestBurnRejectsPremiumAboveMaximumRateOnLine(t *testing.T) {
	t.Parallel()
	par := loadings()
	sold, _, _, err := pricing.Burn(quakeCover(23.98, 121.61), par, hazard.Shipped(), asOf)
	require.NoError(t, err)
	cheapest := sold.RateOnLine
	par.MaximumRateOnLine = cheapest.Sub(mustDecimal("0.0000001"))
	price, basis, _, err := pricing.Burn(quakeCover(23.98, 121.61), par, hazard.Shipped(), asOf)
	var uninsurable *pricing.UninsurableError
	require.ErrorAs(t, err, &uninsurable)
	require.Equal(t, price.Premium, uninsurable.Premium)
	require.Equal(t, 58, basis.Years)

	par.MaximumRateOnLine = cheapest
	_, _, _, err = pricing.Burn(quakeCover(23.98, 121.61), par, hazard.Shipped(), asOf)
	require.NoError(t, err, "the largest rate itself is sold")
}

func TestBurnRejectsTermsOutsidePriceData(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*trigger.Cover, *pricing.Parameters){
		"no limit":             func(c *trigger.Cover, _ *pricing.Parameters) { c.Limit.Amount = 0 },
		"below the data":       func(c *trigger.Cover, _ *pricing.Parameters) { c.Payout.Steps[0].Threshold = mustDecimal("5.4") },
		"no term":              func(c *trigger.Cover, _ *pricing.Parameters) { c.Term = "a year" },
		"no such peril":        func(c *trigger.Cover, _ *pricing.Parameters) { c.Trigger.Kind = "flood" },
		"no such station":      func(c *trigger.Cover, _ *pricing.Parameters) { c.Trigger.Kind = trigger.Rainfall },
		"shares of all":        func(_ *trigger.Cover, p *pricing.Parameters) { p.ExpenseShare = mustDecimal("0.85") },
		"a negative load":      func(_ *trigger.Cover, p *pricing.Parameters) { p.RiskFactor = mustDecimal("-0.1") },
		"no maximum rate":      func(_ *trigger.Cover, p *pricing.Parameters) { p.MaximumRateOnLine = mustDecimal("0") },
		"beyond 64 bits":       func(_ *trigger.Cover, p *pricing.Parameters) { p.RiskFactor = mustDecimal("1e30") },
		"smoothed backwards":   func(_ *trigger.Cover, p *pricing.Parameters) { p.SmoothingKM = mustDecimal("-1") },
		"longer than a year":   func(c *trigger.Cover, _ *pricing.Parameters) { c.Term = "P367D" },
		"a limit below nought": func(c *trigger.Cover, _ *pricing.Parameters) { c.Limit.Amount = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, par := quakeCover(23.98, 121.61), loadings()
			change(&c, &par)
			_, _, _, err := pricing.Burn(c, par, hazard.Shipped(), asOf)
			require.Error(t, err)
		})
	}
}

func TestBurnPricesAShortTermOnItsSeason(t *testing.T) {
	t.Parallel()
	at := func(month time.Month, day int) *time.Time {
		start := time.Date(2026, month, day, 6, 0, 0, 0, time.UTC)
		return &start
	}
	for name, test := range map[string]struct {
		start  *time.Time
		term   string
		season *pricing.Season
		in     func(monthDay string) bool
	}{
		"summer":        {at(6, 1), "P91D", &pricing.Season{From: "06-01", To: "08-31"}, func(d string) bool { return d >= "06-01" && d < "08-31" }},
		"over new year": {at(11, 15), "P90D", &pricing.Season{From: "11-15", To: "02-13"}, func(d string) bool { return d >= "11-15" || d < "02-13" }},
		"all but a day": {at(5, 2), "P364D", &pricing.Season{From: "05-02", To: "05-01"}, func(d string) bool { return d != "05-01" }},
		"without start": {nil, "P30D", &pricing.Season{From: "03-01", To: "03-31"}, func(d string) bool { return d >= "03-01" && d < "03-31" }},
		"a year":        {at(6, 1), "P1Y", nil, func(string) bool { return true }},
		"366 days":      {at(6, 1), "P366D", nil, func(string) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := quakeCover(23.98, 121.61)
			_, _, whole, err := pricing.Burn(c, loadings(), hazard.Shipped(), asOf)
			require.NoError(t, err)
			c.StartsAt, c.Term = test.start, test.term
			_, basis, history, err := pricing.Burn(c, loadings(), hazard.Shipped(), asOf)
			require.NoError(t, err)
			require.Equal(t, test.season, basis.Season)
			want := slices.DeleteFunc(whole, func(p pricing.PastEvent) bool { return !test.in(p.OccurredAt.Format("01-02")) })
			require.Equal(t, want, history)
		})
	}
}
