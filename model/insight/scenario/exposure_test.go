package scenario_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/insight/scenario"
	"parapet/model/kernel/actor"
	"parapet/model/kernel/apperr"
	"parapet/model/kernel/store"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

// listAllExposed lists all policies of an exposure, page by page.
func listAllExposed(t *testing.T, b *modeltest.Bundle, who actor.Actor, in scenario.ExposureRequest, size int) (*wire.Exposure, []wire.Explanation) {
	t.Helper()
	var all []wire.Explanation
	page := store.PageRequest{Limit: size}
	for {
		total, list, err := b.Service.Scenarios.Expose(t.Context(), who, in, page)
		require.NoError(t, err)
		all = append(all, list.Data...)
		if !list.HasMore {
			return total, all
		}
		page.Cursor = *list.NextCursor
	}
}

// payableByCurrency returns the total payable amounts of an exposure, by currency.
func payableByCurrency(e *wire.Exposure) map[string]int64 {
	sums := make(map[string]int64)
	for _, total := range e.Totals {
		if total.Payable.Amount > 0 {
			sums[total.Currency] = total.Payable.Amount
		}
	}
	return sums
}

// grantedByCurrency returns the approved amounts of the claims for a source's event, by
// currency.
func grantedByCurrency(t *testing.T, b *modeltest.Bundle, source string) map[string]int64 {
	t.Helper()
	list, err := b.Service.Claims.List(t.Context(), b.Operator, store.Filter{}, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(t, err)
	require.False(t, list.HasMore)
	sums := make(map[string]int64)
	for _, c := range list.Data {
		if c.Occurrence.SourceEventID == source && c.Amount != nil {
			sums[c.Amount.Currency] += c.Amount.Amount
		}
	}
	return sums
}

// newHualienPortfolio creates policies in and around Hualien, in three currencies and for
// two partners; earlier earthquakes have used part of some limits.
func newHualienPortfolio(t *testing.T) *modeltest.Bundle {
	t.Helper()
	b := modeltest.New(t)
	dice := rand.New(rand.NewPCG(1, 2))
	for i := range 30 {
		policy := b.ActingAs([]actor.Actor{b.Acme, b.Globex}[i%2]).QuoteAndBind("quake-circle", modeltest.Context{
			"limit":    map[string]any{"amount": 1_500_000 + dice.IntN(1000), "currency": []string{"USD", "EUR", "JPY"}[i%3]},
			"location": map[string]float64{"latitude": 23.2 + 1.6*dice.Float64(), "longitude": 121 + 1.2*dice.Float64()},
		})
		require.NotEmpty(t, policy.ID)
		if i == 12 || i == 20 {
			b.Observe(modeltest.Quake(fmt.Sprintf("us%d", i), b.Now(), modeltest.Hualien, []string{"6.6", "7.1"}[i%3%2]))
			b.RunJobs()
		}
	}
	return b
}

func TestExposureEqualsLaterPayouts(t *testing.T) {
	t.Parallel()
	b := newHualienPortfolio(t)
	b.AdvanceClock(2 * time.Minute)
	at := b.Now()
	asked := scenario.ExposureRequest{Occurrence: scenario.WhatIf{Earthquake: &scenario.WhatIfEarthquake{
		Location: modeltest.Epicentre, Magnitude: "6.9", DepthKM: new("10"), At: &at,
	}}, NearMisses: true}
	before := b.CountRows()
	foretold, touched := listAllExposed(t, b, b.Operator, asked, 3)
	require.Equal(t, before, b.CountRows(), "nothing is written")

	b.Observe(modeltest.Quake("the-one", at, modeltest.Epicentre, "6.9"))
	b.RunJobs()
	paid := grantedByCurrency(t, b, "the-one")
	require.Equal(t, paid, payableByCurrency(foretold))
	require.Len(t, paid, 3)
	listed, capped := make(map[string]int64), 0
	for i, e := range touched {
		listed[e.Payable.Currency] += e.Payable.Amount
		if i > 0 {
			require.GreaterOrEqual(t, touched[i-1].Payable.Amount, e.Payable.Amount, "the largest payment first")
		}
		if e.Met && e.Payable.Amount < e.Amount.Amount {
			require.Contains(t, e.Reasons, "limit_exhausted")
			capped++
		}
		policy := b.ActingAs(modeltest.Partner(e.Partner)).Policy(e.PolicyID)
		for _, claim := range b.ActingAs(modeltest.Partner(e.Partner)).Claims(policy) {
			if claim.Occurrence.SourceEventID == "the-one" {
				require.Equal(t, claim.Determination.Index, e.Index)
				require.Equal(t, claim.Determination.Threshold, e.Threshold)
				require.Equal(t, claim.Determination.Factor, e.Factor)
				require.Equal(t, claim.Determination.Amount, e.Amount)
				require.Equal(t, claim.Determination.DistanceKM, e.DistanceKM)
				require.Equal(t, claim.Decision.ReasonCodes, e.Reasons)
			}
		}
	}
	require.Equal(t, paid, listed)
	require.Positive(t, capped, "some had too little left")
	for _, total := range foretold.Totals {
		var claims int
		var owed, held int64
		for _, band := range foretold.Bands {
			if band.Currency == total.Currency {
				claims, owed, held = claims+band.Claims, owed+band.Owed.Amount, held+band.Payable.Amount
			}
		}
		require.Equal(t, total.Paying, claims)
		require.Equal(t, total.Owed.Amount, owed)
		require.Equal(t, total.Payable.Amount, held)
	}
}

func TestWhatIfStormEqualsLaterPayouts(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for i := range 8 {
		b.QuoteAndBind("cyclone-circle", modeltest.Context{"location": map[string]float64{"latitude": 25 + float64(i)/4, "longitude": -80.2}})
	}
	b.AdvanceClock(3 * modeltest.Day)
	now := b.Now()
	track := []hazard.Point{{Latitude: 25, Longitude: -79}, {Latitude: 25.8, Longitude: -80.2}, {Latitude: 26.4, Longitude: -81}}
	winds := []string{"100", "90", "70"}
	var storm scenario.WhatIfStorm
	var fixes []wire.ObservationInput
	for i, where := range track {
		at := now.Add(time.Duration(i-2) * 6 * time.Hour)
		storm.Fixes = append(storm.Fixes, scenario.WhatIfFix{Location: where, WindKN: &winds[i], At: &at})
		fixes = append(fixes, modeltest.Fix("AL99", at, where, winds[i]))
	}
	foretold, touched := listAllExposed(t, b, b.Acme, scenario.ExposureRequest{Occurrence: scenario.WhatIf{Storm: &storm}}, 2)
	require.NotEmpty(t, touched)
	b.Observe(fixes...)
	b.RunJobs()
	require.Equal(t, grantedByCurrency(t, b, "AL99"), payableByCurrency(foretold))
}

func TestWhatIfRainEqualsLaterPayouts(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for _, days := range []int{1, 3, 5} {
		b.QuoteAndBind("rain-excess", modeltest.Context{"days": days})
	}
	b.QuoteAndBind("rain-deficit", nil)
	b.AdvanceClock(20 * modeltest.Day)
	station := b.QuoteAndBind("rain-excess", nil).Cover.Place.Station
	first := b.Now().Truncate(modeltest.Day).AddDate(0, 0, -18)
	var reported, supposed []wire.ObservationInput
	var rain scenario.WhatIfRain
	values := []string{"5", "190", "60", "0", "0", "0", "80", "40", "190", "0", "0", "0", "150", "0", "0", "0"}
	for i, value := range values {
		report := modeltest.StationDay(station, first.AddDate(0, 0, i), value)
		if i < 6 {
			reported = append(reported, report)
			continue
		}
		supposed = append(supposed, report)
		rain.Days = append(rain.Days, scenario.WhatIfDay{Day: report.OccurredAt, PrecipitationMM: report.Measures["precipitation"].Value})
	}
	rain.Station = station
	b.Observe(reported...)
	b.RunJobs()
	already := sumGrantedClaims(t, b)
	foretold, touched := listAllExposed(t, b, b.Operator, scenario.ExposureRequest{Occurrence: scenario.WhatIf{Rain: &rain}}, 2)
	require.Greater(t, len(touched), 3, "two spells for each of some policies")
	b.Observe(supposed...)
	b.RunJobs()
	require.Equal(t, sumGrantedClaims(t, b)-already, payableByCurrency(foretold)["USD"])
	require.Positive(t, foretold.Totals[0].Payable.Amount)
}

// sumGrantedClaims returns the total approved amount of all claims, in dollars.
func sumGrantedClaims(t *testing.T, b *modeltest.Bundle) (total int64) {
	t.Helper()
	list, err := b.Service.Claims.List(t.Context(), b.Operator, store.Filter{}, store.PageRequest{Limit: store.MaxPageSize})
	require.NoError(t, err)
	for _, c := range list.Data {
		if c.Amount != nil {
			total += c.Amount.Amount
		}
	}
	return total
}

func TestExposureIsScopedToPartner(t *testing.T) {
	t.Parallel()
	b := newHualienPortfolio(t)
	quake := scenario.WhatIf{Earthquake: &scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "7.0"}}
	sums := func(who actor.Actor, in scenario.ExposureRequest) map[string]int64 {
		in.Occurrence = quake
		total, touched := listAllExposed(t, b, who, in, 100)
		for _, e := range touched {
			require.True(t, who.Partner == "" || who.Partner == e.Partner)
		}
		return payableByCurrency(total)
	}
	all := sums(b.Operator, scenario.ExposureRequest{})
	acme, globex := sums(b.Acme, scenario.ExposureRequest{}), sums(b.Globex, scenario.ExposureRequest{})
	for currency, amount := range all {
		require.Equal(t, amount, acme[currency]+globex[currency])
	}
	require.Equal(t, acme, sums(b.Operator, scenario.ExposureRequest{Partner: "acme"}))
	require.Equal(t, []string{"EUR"}, slices.Collect(maps.Keys(sums(b.Operator, scenario.ExposureRequest{Currency: "EUR"}))))
	require.Empty(t, sums(b.Operator, scenario.ExposureRequest{Product: "cyclone-circle"}))
	_, _, err := b.Service.Scenarios.Expose(t.Context(), b.Acme, scenario.ExposureRequest{Occurrence: quake, Partner: "globex"}, store.PageRequest{})
	require.Equal(t, apperr.CodePartnerMismatch, modeltest.DomainError(t, err).Code)
}

func TestInvalidWhatIfIsRejected(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	quake := func(change func(*scenario.WhatIfEarthquake)) scenario.WhatIf {
		q := scenario.WhatIfEarthquake{Location: modeltest.Epicentre, Magnitude: "7"}
		change(&q)
		return scenario.WhatIf{Earthquake: &q}
	}
	for pointer, in := range map[string]scenario.WhatIf{
		"/occurrence":                                      {},
		"/occurrence/earthquake/magnitude":                 quake(func(q *scenario.WhatIfEarthquake) { q.Magnitude = "big" }),
		"/occurrence/earthquake/depth_km":                  quake(func(q *scenario.WhatIfEarthquake) { q.DepthKM = new("5000") }),
		"/occurrence/earthquake/location/latitude":         quake(func(q *scenario.WhatIfEarthquake) { q.Location.Latitude = 91 }),
		"/occurrence/earthquake/at":                        quake(func(q *scenario.WhatIfEarthquake) { q.At = new(time.Time) }),
		"/occurrence/storm/fixes":                          {Storm: &scenario.WhatIfStorm{}},
		"/occurrence/storm/fixes/1/wind_kn":                {Storm: &scenario.WhatIfStorm{Fixes: []scenario.WhatIfFix{{WindKN: new("50")}, {WindKN: new("900")}}}},
		"/occurrence/storm/fixes/0/pressure_hpa":           {Storm: &scenario.WhatIfStorm{Fixes: []scenario.WhatIfFix{{PressureHPA: new("2")}}}},
		"/occurrence/storm/fixes/0":                        {Storm: &scenario.WhatIfStorm{Fixes: []scenario.WhatIfFix{{}}}},
		"/occurrence/temperature/days":                     {Temperature: &scenario.WhatIfTemperature{Station: "Milwaukee"}},
		"/occurrence/temperature/station":                  {Temperature: &scenario.WhatIfTemperature{Days: []scenario.WhatIfTemperatureDay{{Day: epochDay, TemperatureMaxC: new("1")}}}},
		"/occurrence/temperature/days/1":                   {Temperature: &scenario.WhatIfTemperature{Station: "x", Days: []scenario.WhatIfTemperatureDay{{Day: epochDay, TemperatureMinC: new("1")}, {Day: epochDay}}}},
		"/occurrence/temperature/days/0/temperature_max_c": {Temperature: &scenario.WhatIfTemperature{Station: "x", Days: []scenario.WhatIfTemperatureDay{{Day: epochDay, TemperatureMaxC: new("99")}}}},
		"/occurrence/temperature/days/0/temperature_min_c": {Temperature: &scenario.WhatIfTemperature{Station: "x", Days: []scenario.WhatIfTemperatureDay{{Day: epochDay, TemperatureMinC: new("x")}}}},
		"/occurrence/rain/days":                            {Rain: &scenario.WhatIfRain{Station: "Seattle", Days: make([]scenario.WhatIfDay, scenario.MaxWhatIfDays+1)}},
		"/occurrence/rain/station":                         {Rain: &scenario.WhatIfRain{Days: []scenario.WhatIfDay{{Day: epochDay, PrecipitationMM: "1"}}}},
		"/occurrence/rain/days/0/precipitation_mm":         {Rain: &scenario.WhatIfRain{Station: "Seattle", Days: []scenario.WhatIfDay{{Day: epochDay, PrecipitationMM: "-1"}}}},
		"/occurrence/rain/days/0/day":                      {Rain: &scenario.WhatIfRain{Station: "Seattle", Days: []scenario.WhatIfDay{{PrecipitationMM: "1"}}}},
	} {
		_, _, err := b.Service.Scenarios.Expose(t.Context(), b.Acme, scenario.ExposureRequest{Occurrence: in}, store.PageRequest{})
		e := modeltest.DomainError(t, err)
		require.Equal(t, apperr.CodeValidationFailed, e.Code, pointer)
		require.Equal(t, pointer, e.Fields[0].Pointer)
	}
}

var epochDay = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
