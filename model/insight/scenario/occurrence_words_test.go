package scenario_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/insight/scenario"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestExplanationOfWhatIfNamesNoSource(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	e := modeltest.ExplainPolicy(t, b, b.QuoteAndBind("quake-circle", nil), whatIfEarthquakeRef(scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "6.6", DepthKM: new("10")}))
	require.Regexp(t, "^The supposed event: magnitude 6.6 mw", e.Sentences[0])
}

func TestExposureCountsEachPolicyOnce(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for range 2 {
		b.QuoteAndBind("quake-circle", nil)
	}
	b.QuoteAndBind("quake-circle", modeltest.Context{"location": map[string]float64{"latitude": 35.6, "longitude": 139.7}})
	for magnitude, want := range map[string]wire.ExposureTotal{"6.6": {Touched: 2, Paying: 2}, "5.0": {Touched: 2, NearMisses: 2}} {
		total, _, err := b.Service.Scenarios.Expose(t.Context(), b.Operator, scenario.ExposureRequest{Occurrence: scenario.WhatIf{Earthquake: &scenario.WhatIfEarthquake{
			Location: modeltest.Epicentre, Magnitude: magnitude, DepthKM: new("10"),
		}}}, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, total.Totals, 1)
		got := total.Totals[0]
		require.Equal(t, want, wire.ExposureTotal{Touched: got.Touched, NearMisses: got.NearMisses, Paying: got.Paying}, magnitude)
	}
}

func TestExplanationOfWhatIfRainNamesItsDays(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	policy := b.QuoteAndBind("rain-excess", modeltest.Context{"days": 2})
	b.AdvanceClock(12 * modeltest.Day)
	first := policy.EffectiveAt.Truncate(modeltest.Day).AddDate(0, 0, 1)
	rain := &scenario.WhatIfRain{Station: policy.Cover.Place.Station}
	for i, value := range []string{"0", "100", "90", "0", "0", "0"} {
		rain.Days = append(rain.Days, scenario.WhatIfDay{Day: first.AddDate(0, 0, i), PrecipitationMM: value})
	}
	e := modeltest.ExplainPolicy(t, b, policy, scenario.OccurrenceRef{WhatIf: &scenario.WhatIf{Rain: rain}})
	require.Contains(t, e.Sentences[0], "from "+first.AddDate(0, 0, 1).Format(time.DateOnly)+" to "+first.AddDate(0, 0, 2).Format(time.DateOnly))
}

func TestExposureOfWhatIfRainIsScopedToThePartner(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	station := b.QuoteAndBind("rain-excess", nil).Cover.Place.Station
	b.ActingAs(b.Globex).QuoteAndBind("rain-excess", nil)
	b.AdvanceClock(12 * modeltest.Day)
	rain := &scenario.WhatIfRain{Station: station}
	for i := range 6 {
		rain.Days = append(rain.Days, scenario.WhatIfDay{Day: b.Now().Truncate(modeltest.Day).AddDate(0, 0, i-8), PrecipitationMM: "90"})
	}
	touched := func(who actor.Actor) int {
		total, _, err := b.Service.Scenarios.Expose(t.Context(), who, scenario.ExposureRequest{Occurrence: scenario.WhatIf{Rain: rain}}, store.PageRequest{})
		require.NoError(t, err)
		require.Len(t, total.Totals, 1)
		return total.Totals[0].Touched
	}
	require.Equal(t, 1, touched(b.Acme))
	require.Equal(t, 2, touched(b.Operator))
}
