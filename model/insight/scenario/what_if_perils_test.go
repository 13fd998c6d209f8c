package scenario_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/insight/scenario"
	"parapet/model/modeltest"
	"parapet/model/wire"
)

func TestWhatIfPressureEqualsLaterPayouts(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	for i := range 6 {
		south := 17 + float64(i)/2
		b.QuoteAndBind("cyclone-pressure", modeltest.Context{"box": map[string]float64{"west": -79, "south": south, "east": -76, "north": south + 0.4}})
	}
	b.QuoteAndBind("cyclone-pressure", nil)
	b.QuoteAndBind("cyclone-circle", modeltest.Context{"location": map[string]float64{"latitude": 18, "longitude": -77.5}})
	b.AdvanceClock(3 * modeltest.Day)
	var storm scenario.WhatIfStorm
	var fixes []wire.ObservationInput
	for i, pressure := range []string{"940", "925", "915"} {
		where, at := hazard.Point{Latitude: 16.5 + float64(i), Longitude: -77.5}, b.Now().Add(time.Duration(i-2)*6*time.Hour)
		what := scenario.WhatIfFix{Location: where, PressureHPA: &pressure, At: &at}
		fix := modeltest.Fix("AL98", at, where, "140")
		fix.Measures["pressure"] = wire.Measure{Value: pressure, Unit: "hPa"}
		if i == 1 {
			what.WindKN = new("140")
		} else {
			delete(fix.Measures, "wind")
		}
		storm.Fixes, fixes = append(storm.Fixes, what), append(fixes, fix)
	}
	foretold, touched := listAllExposed(t, b, b.Acme, scenario.ExposureRequest{Occurrence: scenario.WhatIf{Storm: &storm}}, 2)
	require.Len(t, touched, 6, "four boxes, of which the track ends on the border of one, and both circles")
	b.Observe(fixes...)
	b.RunJobs()
	require.Equal(t, grantedByCurrency(t, b, "AL98"), payableByCurrency(foretold))
	require.Positive(t, foretold.Totals[0].Payable.Amount)
}

func TestWhatIfTemperatureEqualsLaterPayouts(t *testing.T) {
	t.Parallel()
	b := modeltest.New(t)
	starts := time.Date(b.Now().Year()+1, time.May, 20, 0, 0, 0, 0, time.UTC)
	if starts.Sub(b.Now()) > 360*modeltest.Day {
		starts = starts.AddDate(-1, 0, 0)
	}
	terms := modeltest.Context{"starts_at": starts.Format(time.RFC3339), "term": "P24D", "attach": "1", "exhaust": "3"}
	policy := b.QuoteAndBind("heat-days", terms)
	b.QuoteAndBind("rain-excess", modeltest.Context{"station": policy.Cover.Place.Station, "days": 1})
	b.AdvanceClock(starts.AddDate(0, 0, 40).Sub(b.Now()))
	first := time.Date(starts.Year(), time.June, 1, 0, 0, 0, 0, time.UTC)
	report := func(day int, celsius string) wire.ObservationInput {
		in := modeltest.StationDay(policy.Cover.Place.Station, first.AddDate(0, 0, day), "0")
		in.Measures = map[string]wire.Measure{"temperature_max": {Value: celsius, Unit: "degC"}}
		return in
	}
	b.Observe(report(0, "33"), report(1, "20"))
	b.RunJobs()
	require.Empty(t, b.Claims(policy))
	what := scenario.WhatIf{Temperature: &scenario.WhatIfTemperature{Station: policy.Cover.Place.Station, Days: []scenario.WhatIfTemperatureDay{
		{Day: first.AddDate(0, 0, 1), TemperatureMaxC: new("32"), TemperatureMinC: new("20")},
	}}}
	foretold, touched := listAllExposed(t, b, b.Acme, scenario.ExposureRequest{Occurrence: what}, 2)
	require.Equal(t, []string{policy.ID}, policyIDsOf(touched), "a policy for rain is not asked")
	require.Equal(t, policy.Cover.Limit.Amount/2, foretold.Totals[0].Payable.Amount, "the reported hot day and the supposed one")
	explained := modeltest.ExplainPolicy(t, b, policy, scenario.OccurrenceRef{WhatIf: &what})
	require.True(t, explained.Pays)
	require.Equal(t, "2", explained.Index.Value)
	quake := modeltest.ExplainPolicy(t, b, b.QuoteAndBind("quake-circle", nil), scenario.OccurrenceRef{WhatIf: &what})
	require.False(t, quake.Pays, "it covers nothing at a station")
	require.Equal(t, []string{"outside_place"}, quake.Reasons)
	revised := report(1, "32")
	b.Observe(revised)
	b.RunJobs()
	require.Equal(t, foretold.Totals[0].Payable, *b.OnlyClaim(policy).Amount)
}
