package pricing_test

import (
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/money"
	"parapet/model/pricing"
	"parapet/model/trigger"
)

func dec(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// quakeCover is a 50 km circle with the usual steps.
func quakeCover(latitude, longitude float64) trigger.Cover {
	return trigger.Cover{
		Limit: money.New(10_000_000, "USD"), Term: "P365D",
		Place: trigger.Place{Kind: trigger.Circle, Latitude: latitude, Longitude: longitude, RadiusKM: 50},
		Trigger: trigger.Trigger{
			Kind: hazard.Earthquake, Index: "magnitude", Unit: "mw",
			Direction: trigger.AtLeast, DecidesOn: trigger.Final,
		},
		Payout: trigger.Payout{Shape: trigger.Step, Steps: []trigger.Rung{
			{Threshold: dec("6.0"), Factor: dec("0.20")},
			{Threshold: dec("6.5"), Factor: dec("0.50")},
			{Threshold: dec("7.0"), Factor: dec("1.00")},
		}},
	}
}

func cycloneCover() trigger.Cover {
	c := quakeCover(25.7617, -80.1918)
	c.Trigger = trigger.Trigger{
		Kind: hazard.StormFix, Index: "sustained_wind", Unit: "kn", Direction: trigger.AtLeast,
		DecidesOn: trigger.Final, Wind: trigger.LargerOfEnds, MaximumGapHours: 24,
	}
	c.Payout.Steps = []trigger.Rung{{Threshold: dec("64"), Factor: dec("0.2")}, {Threshold: dec("113"), Factor: dec("1")}}
	return c
}

func loadings() pricing.Parameters {
	return pricing.Parameters{
		UncertaintyFactor: dec("0.5"), RiskFactor: dec("0.1"), ExpenseShare: dec("0.10"), CommissionShare: dec("0.15"),
		MinimumPremium: 2500, MaximumRateOnLine: dec("0.35"),
	}
}

func TestBurnAtHualien(t *testing.T) {
	t.Parallel()
	price, basis, history, err := pricing.Burn(quakeCover(23.98, 121.61), loadings(), hazard.Shipped(), asOf)
	require.NoError(t, err)
	require.Equal(t, 52, basis.Years)
	require.Equal(t, 52, basis.EventsInPlace)
	require.Equal(t, 16, basis.PayingEvents)
	require.Equal(t, "3187500", basis.MeanSeverity.String())
	require.Equal(t, "45000000", basis.AnnualLossSum.String())
	require.Equal(t, "0.317307692308", basis.EventRate.String())
	require.Equal(t, "0.271893312171", basis.AttachmentProbability.String()) // 1 − e^(−16.5/52)
	require.Equal(t, "3.151515151515", basis.ReturnPeriodYears.String())
	require.Equal(t, money.New(1_703_766, "USD"), price.Premium)
	require.Equal(t, "0.1703766", price.RateOnLine.String())
	require.Nil(t, basis.Season)
	require.Len(t, history, 16)
	require.True(t, slices.IsSortedFunc(history, func(a, b pricing.Past) int { return b.OccurredAt.Compare(a.OccurredAt) }))
	for _, past := range history {
		require.True(t, decimal.RequireFromString(past.Index.Value).GreaterThanOrEqual(dec("6.0")))
		require.LessOrEqual(t, *past.DistanceKM, 50.0)
	}
}

func TestBurnWhereNothingHappened(t *testing.T) {
	t.Parallel()
	price, basis, history, err := pricing.Burn(quakeCover(52.52, 13.40), loadings(), hazard.Shipped(), asOf)
	require.NoError(t, err)
	require.Empty(t, history)
	require.NotNil(t, history, "an empty list, not null")
	require.Equal(t, "2000000", basis.MeanSeverity.String(), "the lowest step times the limit")
	require.Equal(t, "0.009615384615", basis.EventRate.String())
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

func TestBurnRefusesADearPremium(t *testing.T) {
	t.Parallel()
	par := loadings()
	par.MaximumRateOnLine = dec("0.1703765")
	price, basis, _, err := pricing.Burn(quakeCover(23.98, 121.61), par, hazard.Shipped(), asOf)
	var uninsurable *pricing.Uninsurable
	require.ErrorAs(t, err, &uninsurable)
	require.Equal(t, price.Premium, uninsurable.Premium)
	require.Equal(t, 52, basis.Years)

	par.MaximumRateOnLine = dec("0.1703766")
	_, _, _, err = pricing.Burn(quakeCover(23.98, 121.61), par, hazard.Shipped(), asOf)
	require.NoError(t, err, "the largest rate itself is sold")
}

func TestBurnRefusesWhatTheDataCannotAnswer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*trigger.Cover, *pricing.Parameters){
		"no limit":             func(c *trigger.Cover, _ *pricing.Parameters) { c.Limit.Amount = 0 },
		"below the data":       func(c *trigger.Cover, _ *pricing.Parameters) { c.Payout.Steps[0].Threshold = dec("5.4") },
		"no term":              func(c *trigger.Cover, _ *pricing.Parameters) { c.Term = "a year" },
		"no such peril":        func(c *trigger.Cover, _ *pricing.Parameters) { c.Trigger.Kind = "flood" },
		"no such station":      func(c *trigger.Cover, _ *pricing.Parameters) { c.Trigger.Kind = hazard.StationDay },
		"shares of all":        func(_ *trigger.Cover, p *pricing.Parameters) { p.ExpenseShare = dec("0.85") },
		"a negative load":      func(_ *trigger.Cover, p *pricing.Parameters) { p.RiskFactor = dec("-0.1") },
		"no maximum rate":      func(_ *trigger.Cover, p *pricing.Parameters) { p.MaximumRateOnLine = dec("0") },
		"beyond 64 bits":       func(_ *trigger.Cover, p *pricing.Parameters) { p.RiskFactor = dec("1e30") },
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
			want := slices.DeleteFunc(whole, func(p pricing.Past) bool { return !test.in(p.OccurredAt.Format("01-02")) })
			require.Equal(t, want, history)
		})
	}
}

// TestBurnCountsSpellsToTheYearOfTheirFirstDay burns a spell over new year, and with
// a winter's cover judges the first January, although its cover began before the data.
func TestBurnCountsSpellsToTheYearOfTheirFirstDay(t *testing.T) {
	t.Parallel()
	par := loadings()
	par.MaximumRateOnLine = dec("5")
	c := excessCover("40", "120")
	_, basis, history, err := pricing.Burn(c, par, hazard.Shipped(), asOf)
	require.NoError(t, err)
	require.Equal(t, 4, basis.Years)
	require.Len(t, history, basis.PayingEvents)
	for _, past := range history {
		require.Nil(t, past.DistanceKM)
		require.Regexp(t, `^Seattle/\d{4}-\d\d-\d\d$`, past.SourceEventID, "a spell has the name of its first day")
	}

	start := time.Date(2026, time.December, 20, 0, 0, 0, 0, time.UTC)
	c.StartsAt, c.Term = &start, "P60D"
	_, basis, history, err = pricing.Burn(c, par, hazard.Shipped(), asOf)
	require.NoError(t, err)
	require.Equal(t, &pricing.Season{From: "12-20", To: "02-18"}, basis.Season)
	require.Equal(t, 2012, history[len(history)-1].OccurredAt.Year())
	require.Equal(t, time.January, history[len(history)-1].OccurredAt.Month())

	overNewYear := hazard.NewHistory(hazard.Records{
		RainData: hazard.Dataset{FirstYear: 2000, LastYear: 2009},
		Stations: []hazard.Station{{Name: "Seattle", Days: []hazard.Day{
			{Date: time.Date(2003, time.December, 31, 0, 0, 0, 0, time.UTC), PrecipitationMM: dec("60")},
			{Date: time.Date(2004, time.January, 1, 0, 0, 0, 0, time.UTC), PrecipitationMM: dec("60")},
			{Date: time.Date(2003, time.February, 1, 0, 0, 0, 0, time.UTC).AddDate(1, 0, 0), PrecipitationMM: dec("120")},
		}}},
	})
	_, basis, history, err = pricing.Burn(excessCover("40", "120"), par, overNewYear, asOf)
	require.NoError(t, err)
	require.Len(t, history, 2)
	require.Equal(t, "Seattle/2003-12-31", history[1].SourceEventID)
	require.Equal(t, "120", history[1].Index.Value, "nothing is split at new year")
	// Two years with the whole limit: were both in 2004, the limit would cap them.
	require.Equal(t, "20000000", basis.AnnualLossSum.String())
}

func excessCover(attach, exhaust string) trigger.Cover {
	from, to, wet := dec(attach), dec(exhaust), dec("1")
	return trigger.Cover{
		Limit: money.New(10_000_000, "USD"), Term: "P365D",
		Place: trigger.Place{Kind: trigger.AtStation, Station: "Seattle"},
		Trigger: trigger.Trigger{
			Kind: hazard.StationDay, Index: "precipitation_sum", Unit: "mm",
			Direction: trigger.AtLeast, DecidesOn: trigger.Final, Days: 5, WetMM: &wet, DryDays: 3,
		},
		Payout: trigger.Payout{Shape: trigger.Linear, Attach: &from, Exhaust: &to},
	}
}

func BenchmarkQuakeCircle(b *testing.B) { benchmark(b, quakeCover(23.98, 121.61)) }

func BenchmarkCycloneCircle(b *testing.B) { benchmark(b, cycloneCover()) }

func benchmark(b *testing.B, c trigger.Cover) {
	b.Helper()
	h := hazard.Shipped()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := pricing.Burn(c, loadings(), h, asOf); err != nil {
			b.Fatal(err)
		}
	}
}
