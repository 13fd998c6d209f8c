package trigger

import (
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
	"parapet/model/money"
)

// mustDecimal parses a decimal literal.
func mustDecimal(text string) decimal.Decimal { return decimal.RequireFromString(text) }

func decimalPtr[T any](value T) *T { return &value }

func utcDate(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// stepRungs parses pairs such as "6.0:0.25".
func stepRungs(pairs ...string) []Rung {
	var steps []Rung
	for i := 0; i < len(pairs); i += 2 {
		steps = append(steps, Rung{Threshold: mustDecimal(pairs[i]), Factor: mustDecimal(pairs[i+1])})
	}
	return steps
}

// yearPeriod is the period of most tests.
var yearPeriod = Period{From: utcDate(2018, 1, 1), To: utcDate(2019, 1, 1)}

func quakeCover() Cover {
	return Cover{
		Limit: money.New(100_000_00, "USD"), Term: "P365D", ReportingWindow: "P30D",
		Place: Place{Kind: Circle, Latitude: 23.98, Longitude: 121.61, RadiusKM: 50},
		Trigger: Trigger{
			Kind: Earthquake, Index: "magnitude", Unit: "mw", Direction: AtLeast,
			DecidesOn: Final, MaximumDepthKM: decimalPtr(mustDecimal("70")),
		},
		Payout: Payout{Shape: Step, Steps: stepRungs("6.0", "0.25", "6.5", "0.5", "7.0", "1")},
	}
}

func stormCover() Cover {
	return Cover{
		Limit: money.New(3_800_000_00, "USD"), Term: "P1Y",
		Place: Place{Kind: Circle, Latitude: 30.4437, Longitude: -85.0474, RadiusKM: 40},
		Trigger: Trigger{
			Kind: Windstorm, Index: "sustained_wind", Unit: "kn", Direction: AtLeast,
			DecidesOn: Final, Wind: LargerOfEnds, MaximumGapHours: 6,
		},
		Payout: Payout{Shape: Step, Steps: stepRungs("64", "0.2", "96", "0.5", "113", "1")},
	}
}

// rainCover returns a cover of wet spells of up to three days, or of calendar months.
func rainCover(direction Direction, payout Payout) Cover {
	c := Cover{
		Limit: money.New(10_000_00, "USD"), Term: "P1Y",
		Place:   Place{Kind: AtStation, Station: "Seattle"},
		Trigger: Trigger{Kind: Rainfall, Index: "precipitation_sum", Unit: "mm", Direction: direction, DecidesOn: Final},
		Payout:  payout,
	}
	if direction == AtMost {
		c.Trigger.Calendar = Month
		return c
	}
	c.Trigger.Days, c.Trigger.WetMM, c.Trigger.DryDays = 3, decimalPtr(decimalOne), 3
	return c
}

// hualienQuake returns the real M 6.4 of 2018-02-06, us1000chhc.
func hualienQuake() hazard.Quake {
	return hazard.Quake{
		At: time.Date(2018, 2, 6, 15, 50, 43, 0, time.UTC), Where: hazard.Point{Latitude: 24.1737, Longitude: 121.653},
		Magnitude: mustDecimal("6.4"), DepthKM: decimalPtr(mustDecimal("10.64")), EventID: "us1000chhc",
	}
}

// hurricaneMichael returns two fixes of the hurricane's landfall on 2018-10-10, NHC
// advisories: 155 and 125 mph.
func hurricaneMichael() hazard.Storm {
	at := func(hour int) time.Time { return time.Date(2018, 10, 10, hour, 0, 0, 0, time.UTC) }
	return hazard.Storm{ID: "AL142018", Name: "MICHAEL", Fixes: []hazard.Fix{
		{At: at(18), Where: hazard.Point{Latitude: 30.0, Longitude: -85.5}, WindKN: decimalPtr(mustDecimal("135"))},
		{At: at(21), Where: hazard.Point{Latitude: 30.9, Longitude: -85.1}, WindKN: decimalPtr(mustDecimal("109"))},
	}}
}

func evaluateQuakeAt(c Cover, q hazard.Quake) Determination {
	return Evaluate(c, yearPeriod, yearPeriod.From, Occurrence{Quake: &q})
}

func evaluateStormAt(c Cover, s hazard.Storm) Determination {
	return Evaluate(c, yearPeriod, yearPeriod.From, Occurrence{Storm: &s})
}

// rainOccurrence returns consecutive days from a date; "-" omits one.
func rainOccurrence(from time.Time, millimetres ...string) []hazard.Day {
	var days []hazard.Day
	for i, mm := range millimetres {
		if mm != "-" {
			days = append(days, hazard.Day{Date: from.AddDate(0, 0, i), PrecipitationMM: new(mustDecimal(mm))})
		}
	}
	return days
}
