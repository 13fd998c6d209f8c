package trigger

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
)

func TestMichaelOverBlountstown(t *testing.T) {
	t.Parallel()
	d := evaluateStormAt(stormCover(), hurricaneMichael())
	require.True(t, d.Met, "hit on the segment")
	require.InDelta(t, 22.94, *d.DistanceKM, 0)
	require.Equal(t, "135", d.Index.String(), "the larger of both ends")
	require.True(t, d.Threshold.Equal(mustDecimal("113")))
	require.Equal(t, int64(3_800_000_00), d.Amount)
	require.Equal(t, time.Date(2018, 10, 10, 19, 43, 0, 0, time.UTC), d.OccurredAt.Truncate(time.Minute))
	require.Equal(t, d.OccurredAt.Truncate(time.Microsecond), d.OccurredAt)

	fixesOnly := stormCover()
	fixesOnly.Trigger.MaximumGapHours = 2
	d = evaluateStormAt(fixesOnly, hurricaneMichael())
	require.False(t, d.Met, "missed on fixes alone")
	require.Equal(t, OutsidePlace, d.Reason)
	require.InDelta(t, 50.99, *d.DistanceKM, 0)
	require.Nil(t, d.Index)

	fixesOnly.Place.RadiusKM = 51
	d = evaluateStormAt(fixesOnly, hurricaneMichael())
	require.True(t, d.Met)
	require.Equal(t, "109", d.Index.String())
	require.Equal(t, "0.5", d.Factor.String())
}

func TestInterpolatedWind(t *testing.T) {
	t.Parallel()
	cover := stormCover()
	cover.Trigger.Wind = Interpolated
	d := evaluateStormAt(cover, hurricaneMichael())
	require.Equal(t, "120.047", d.Index.String()) // 135 − 0.5751 × 26
	require.Equal(t, "1", d.Factor.String())
}

func TestSegmentWind(t *testing.T) {
	t.Parallel()
	w := func(kn string) *decimal.Decimal { return decimalPtr(mustDecimal(kn)) }
	tests := map[string]struct {
		rule  WindRule
		a, b  *decimal.Decimal
		along float64
		want  string // empty: none
	}{
		"larger first":          {LargerOfEnds, w("90"), w("80"), 1, "90"},
		"larger second":         {LargerOfEnds, w("80"), w("90"), 0, "90"},
		"larger of one, first":  {LargerOfEnds, w("80"), nil, 0.5, "80"},
		"larger of one, second": {LargerOfEnds, nil, w("80"), 0.5, "80"},
		"larger of none":        {LargerOfEnds, nil, nil, 0.5, ""},
		"at the start":          {Interpolated, w("80"), w("90"), 0, "80"},
		"at the end":            {Interpolated, w("80"), w("90"), 1, "90"},
		"falling":               {Interpolated, w("90"), w("80"), 0.25, "87.5"},
		"three decimals":        {Interpolated, w("80"), w("90"), 1.0 / 3, "83.333"},
		"one end unknown":       {Interpolated, w("80"), nil, 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wind, ok := segmentWind(test.rule, test.a, test.b, test.along)
			require.Equal(t, test.want != "", ok)
			if ok {
				require.Equal(t, test.want, wind.String())
			}
		})
	}
}

// stormTrack returns fixes six hours apart along the parallel of Blountstown, west to
// east, at degrees from its meridian and with winds; "" is unknown.
func stormTrack(from time.Time, degrees []float64, winds ...string) hazard.Storm {
	var storm hazard.Storm
	for i, east := range degrees {
		fix := hazard.Fix{
			At:    from.Add(time.Duration(i) * 6 * time.Hour),
			Where: hazard.Point{Latitude: 30.4437, Longitude: -85.0474 + east},
		}
		if winds[i] != "" {
			fix.WindKN = decimalPtr(mustDecimal(winds[i]))
		}
		storm.Fixes = append(storm.Fixes, fix)
	}
	return storm
}

func TestRings(t *testing.T) {
	t.Parallel()
	cover := stormCover() // a degree of longitude is 96 km here
	cover.Place.RadiusKM = 100
	cover.Payout = Payout{Shape: Step, Rings: []Ring{
		newRing("0.25", "64", "0.5", "96", "1"),
		newRing("0.5", "83", "0.5"),
		newRing("1", "113", "0.4"),
	}}
	tests := map[string]struct {
		east                   float64
		wind                   string
		factor, radius, missed string
	}{
		"the middle pays best":      {0.1, "100", "1", "25", "0"},
		"the middle pays earliest":  {0.1, "70", "0.5", "25", "0"},
		"the middle misses":         {0.1, "60", "0", "25", "4"},
		"the second":                {0.4, "90", "0.5", "50", "0"},
		"the second before the rim": {0.4, "120", "0.5", "50", "0"},
		"the second misses":         {0.4, "80", "0", "50", "3"},
		"the rim":                   {0.9, "120", "0.4", "100", "0"},
		"the rim misses":            {0.9, "100", "0", "100", "13"},
		"outside":                   {1.1, "150", "0", "100", "0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := evaluateStormAt(cover, stormTrack(utcDate(2018, 9, 1), []float64{test.east}, test.wind))
			require.Equal(t, test.factor, d.Factor.String())
			require.Equal(t, test.factor != "0", d.Met)
			require.InDelta(t, mustDecimal(test.radius).InexactFloat64(), *d.RadiusKM, 0)
			require.Equal(t, test.missed, d.Missed.String())
		})
	}
}

func TestStormDecidesOnHighestFactor(t *testing.T) {
	t.Parallel()
	start := utcDate(2018, 9, 1)
	hour := func(n int) time.Time { return start.Add(time.Duration(n) * time.Hour) }
	fixes := stormCover()
	fixes.Trigger.MaximumGapHours = 0
	tests := map[string]struct {
		winds  []string
		period Period
		from   time.Time
		at     time.Time
		index  string
		reason Reason
	}{
		"highest factor":              {[]string{"70", "100", "80"}, yearPeriod, yearPeriod.From, hour(6), "100", ThresholdMet},
		"then highest index":          {[]string{"70", "75", "72"}, yearPeriod, yearPeriod.From, hour(6), "75", ThresholdMet},
		"then earliest":               {[]string{"60", "75", "75"}, yearPeriod, yearPeriod.From, hour(6), "75", ThresholdMet},
		"unknown winds are skipped":   {[]string{"", "", "70"}, yearPeriod, yearPeriod.From, hour(12), "70", ThresholdMet},
		"nearest miss":                {[]string{"50", "60", "55"}, yearPeriod, yearPeriod.From, hour(6), "60", ThresholdNotMet},
		"cover ended before the peak": {[]string{"70", "100", "80"}, Period{yearPeriod.From, hour(6)}, yearPeriod.From, hour(0), "70", ThresholdMet},
		"cover began after the peak":  {[]string{"70", "100", "80"}, Period{hour(7), yearPeriod.To}, yearPeriod.From, hour(12), "80", ThresholdMet},
		"peak in the waiting period":  {[]string{"70", "100", "80"}, yearPeriod, hour(7), hour(12), "80", ThresholdMet},
		"weak after the waiting":      {[]string{"70", "100", "50"}, yearPeriod, hour(7), hour(12), "50", ThresholdNotMet},
		"all in the waiting period":   {[]string{"70", "100", "80"}, yearPeriod, hour(13), hour(6), "100", WaitingPeriod},
		"all before the cover":        {[]string{"70", "100", "80"}, Period{hour(13), yearPeriod.To}, hour(13), hour(6), "100", OutsidePeriod},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storm := stormTrack(start, []float64{-0.1, 0, 0.1}, test.winds...)
			d := Evaluate(fixes, test.period, test.from, Occurrence{Storm: &storm})
			require.Equal(t, test.reason, d.Reason)
			require.Equal(t, test.at, d.OccurredAt)
			require.Equal(t, test.index, d.Index.String())
		})
	}
}

// The moment of a segment is that of the closest point, so a storm that passes half an
// hour after the cover ends does not pay although its last fix was inside.
func TestMomentOfASegmentLiesInThePeriod(t *testing.T) {
	t.Parallel()
	start := utcDate(2018, 9, 1)
	storm := stormTrack(start, []float64{-2, 2}, "100", "100")
	noon := start.Add(3 * time.Hour)
	for end, met := range map[time.Time]bool{noon.Add(time.Minute): true, noon.Add(-time.Minute): false} {
		d := Evaluate(stormCover(), Period{yearPeriod.From, end}, yearPeriod.From, Occurrence{Storm: &storm})
		require.Equal(t, met, d.Met)
		require.WithinDuration(t, noon, d.OccurredAt, time.Second)
	}
}

func TestSegmentsOverMaximumGapAreSkipped(t *testing.T) {
	t.Parallel()
	storm := stormTrack(utcDate(2018, 9, 1), []float64{-2, 2}, "100", "100")
	require.True(t, evaluateStormAt(stormCover(), storm).Met, "a gap of just the maximum")
	storm.Fixes[1].At = storm.Fixes[1].At.Add(time.Second)
	require.Equal(t, OutsidePlace, evaluateStormAt(stormCover(), storm).Reason)
}

func TestStormWithoutWindMeasuresNothing(t *testing.T) {
	t.Parallel()
	d := evaluateStormAt(stormCover(), stormTrack(utcDate(2018, 9, 1), []float64{0, 0.1}, "", ""))
	require.Equal(t, OutsidePlace, d.Reason)
	require.Nil(t, d.Index)
	require.Zero(t, *d.DistanceKM)
	require.Equal(t, OutsidePlace, evaluateStormAt(stormCover(), hazard.Storm{}).Reason)
}

// Two storms of one season, 40 % and then 80 % of a limit of 3.8 m: each is determined
// on the whole limit, and the second is paid the remaining limit.
func TestTwoStormsExhaustTheLimit(t *testing.T) {
	t.Parallel()
	cover := stormCover()
	cover.Payout = Payout{Shape: Step, Steps: stepRungs("64", "0.4", "96", "0.8")}
	left := cover.Limit.Amount
	var paid []int64
	for i, wind := range []string{"70", "100"} {
		d := evaluateStormAt(cover, stormTrack(utcDate(2018, time.Month(8+i), 1), []float64{0}, wind))
		require.True(t, d.Met)
		amount := min(d.Amount, left)
		left -= amount
		paid = append(paid, amount)
	}
	require.Equal(t, []int64{1_520_000_00, 2_280_000_00}, paid)
	require.Zero(t, left)
}
