package measurement_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"parapet/model/hazard"
	"parapet/model/hazard/measurement"
	"parapet/model/hazard/trigger"
)

var origin = time.Date(2018, 2, 6, 15, 50, 0, 0, time.UTC)

// terms returns terms of three sources with a wait of a day and a long stop of ten days.
func terms(kind trigger.MeasurementRuleKind, m int, tolerance string, fallback trigger.MeasurementFallback) trigger.Measurement {
	t := trigger.Measurement{
		Sources: []trigger.MeasurementSource{{Source: "usgs", Stage: trigger.Final}, {Source: "emsc", Stage: trigger.Final}, {Source: "gfz", Stage: trigger.Final}},
		Rule:    trigger.MeasurementRule{Kind: kind, M: m}, Wait: "P1D", Fallback: fallback, LongStop: "P10D", ChallengeWindow: "P30D",
	}
	if tolerance != "" {
		t.Rule.Tolerance = &hazard.Measure{Value: tolerance, Unit: "mw"}
	}
	return t
}

// reading returns a reading that counts from a number of hours after the origin; an empty
// magnitude is outside the place.
func reading(rank int, magnitude string, hours int) measurement.Reading {
	d := trigger.Determination{Reason: trigger.OutsidePlace, OccurredAt: origin}
	if magnitude != "" {
		index := decimal.RequireFromString(magnitude)
		d = trigger.Determination{Index: &index, Reason: trigger.ThresholdNotMet}
		if index.GreaterThanOrEqual(decimal.NewFromInt(6)) {
			d.Met, d.Reason, d.Amount = true, trigger.ThresholdMet, index.Mul(decimal.NewFromInt(10)).IntPart()
		}
	}
	return measurement.Reading{Rank: rank, Determination: d, Counts: true, CountedAt: origin.Add(time.Duration(hours) * time.Hour), EndedAt: origin}
}

func TestEveryRuleSelectsOneSource(t *testing.T) {
	t.Parallel()
	three := func(a, b, c string) []measurement.Reading {
		return []measurement.Reading{reading(0, a, 1), reading(1, b, 1), reading(2, c, 1)}
	}
	for name, tc := range map[string]struct {
		kind      trigger.MeasurementRuleKind
		m         int
		tolerance string
		readings  []measurement.Reading
		want      int
	}{
		"first of all":                           {trigger.FirstOf, 0, "", three("5.9", "6.5", "7.0"), 0},
		"the smallest amount":                    {trigger.WorstOf, 0, "", three("6.6", "6.1", "7.0"), 1},
		"equal smallest amounts":                 {trigger.WorstOf, 0, "", three("6.6", "5.0", "5.9"), 1},
		"the largest amount":                     {trigger.BestOf, 0, "", three("6.6", "6.1", "7.0"), 2},
		"equal largest amounts":                  {trigger.BestOf, 0, "", three("5.1", "5.2", "5.3"), 0},
		"the middle of three":                    {trigger.MOfN, 2, "0.3", three("6.5", "6.3", "6.6"), 0},
		"two agree, the higher rank decides":     {trigger.MOfN, 2, "0.3", three("7.0", "6.6", "6.4"), 1},
		"the tolerance itself agrees":            {trigger.MOfN, 3, "0.3", three("6.6", "6.3", "6.4"), 2},
		"beyond the tolerance":                   {trigger.MOfN, 3, "0.3", three("6.61", "6.3", "6.4"), -1},
		"equally many, the smaller spread":       {trigger.MOfN, 2, "0.3", three("6.1", "6.4", "6.6"), 1},
		"equally many and wide, the higher rank": {trigger.MOfN, 2, "0.3", three("6.4", "6.1", "6.7"), 0},
		"outside agrees with outside":            {trigger.MOfN, 2, "9", three("6.4", "", ""), 1},
		"outside agrees with nothing else":       {trigger.MOfN, 3, "9", three("6.4", "6.5", ""), -1},
		"missed readings agree":                  {trigger.MOfN, 2, "0.3", three("7.0", "5.8", "5.9"), 1},
		"met and missed readings agree":          {trigger.MOfN, 3, "0.3", three("5.9", "6.1", "6.0"), 2},
		"one of three":                           {trigger.MOfN, 1, "0", three("6.4", "6.1", "6.7"), 0},
		"equal readings":                         {trigger.MOfN, 3, "0", three("6.4", "6.40", "6.400"), 0},
	} {
		got := measurement.Select(terms(tc.kind, tc.m, tc.tolerance, trigger.FallbackOperator), tc.readings, origin.Add(25*time.Hour))
		require.Equal(t, tc.want, got.Selected, name)
		require.Equal(t, map[bool]measurement.State{true: measurement.Selected, false: measurement.Operator}[tc.want >= 0], got.State, name)
	}
}

func TestSelectionWaitsUntilItsDeadline(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	first, second := reading(0, "6.5", 1), reading(1, "7.0", 2)
	preliminary := first
	preliminary.Counts = false
	late := reading(0, "6.5", 30)
	for name, tc := range map[string]struct {
		kind     trigger.MeasurementRuleKind
		fallback trigger.MeasurementFallback
		readings []measurement.Reading
		now      time.Duration
		state    measurement.State
		selected int
		due      time.Duration
	}{
		"the highest rank decides at once":           {trigger.FirstOf, trigger.FallbackNone, []measurement.Reading{first}, time.Hour, measurement.Selected, 0, 0},
		"a lower rank waits":                         {trigger.FirstOf, trigger.FallbackNone, []measurement.Reading{second}, day - 1, measurement.Waiting, -1, day},
		"a lower rank decides at the deadline":       {trigger.FirstOf, trigger.FallbackNone, []measurement.Reading{second}, day, measurement.Selected, 1, 0},
		"a late higher rank changes nothing":         {trigger.FirstOf, trigger.FallbackNone, []measurement.Reading{second, late}, 2 * day, measurement.Selected, 1, 0},
		"a preliminary reading does not count":       {trigger.FirstOf, trigger.FallbackNone, []measurement.Reading{preliminary, second}, time.Hour, measurement.Waiting, -1, day},
		"the largest amount waits for all":           {trigger.BestOf, trigger.FallbackNone, []measurement.Reading{first, second}, time.Hour, measurement.Waiting, -1, day},
		"the largest amount in time":                 {trigger.BestOf, trigger.FallbackNone, []measurement.Reading{first, second}, day, measurement.Selected, 1, 0},
		"nothing in time, and an operator":           {trigger.BestOf, trigger.FallbackOperator, []measurement.Reading{late}, 2 * day, measurement.Operator, -1, 0},
		"nothing in time, and the next rank":         {trigger.BestOf, trigger.FallbackNextRank, []measurement.Reading{late}, 2 * day, measurement.Selected, 0, 0},
		"nothing at all, and the next rank":          {trigger.BestOf, trigger.FallbackNextRank, []measurement.Reading{preliminary}, 2 * day, measurement.Waiting, -1, 10 * day},
		"nothing before the long stop":               {trigger.BestOf, trigger.FallbackNextRank, []measurement.Reading{preliminary}, 10 * day, measurement.Stopped, -1, 0},
		"a report after the long stop":               {trigger.BestOf, trigger.FallbackNextRank, []measurement.Reading{reading(0, "7", 241)}, 11 * day, measurement.Stopped, -1, 0},
		"no agreement in time, and none":             {trigger.MOfN, trigger.FallbackNone, []measurement.Reading{first, second}, day, measurement.Waiting, -1, 10 * day},
		"no agreement in time, and the next rank":    {trigger.MOfN, trigger.FallbackNextRank, []measurement.Reading{first, second}, day, measurement.Selected, 0, 0},
		"a late report agrees, and no fallback":      {trigger.MOfN, trigger.FallbackNone, []measurement.Reading{first, second, reading(2, "6.6", 30)}, 2 * day, measurement.Selected, 0, 0},
		"a late report changes no fallback":          {trigger.MOfN, trigger.FallbackNextRank, []measurement.Reading{late, reading(2, "6.6", 29)}, 2 * day, measurement.Selected, 2, 0},
		"all disagree before the deadline: they may": {trigger.MOfN, trigger.FallbackOperator, []measurement.Reading{first, second, reading(2, "5", 2)}, 3 * time.Hour, measurement.Waiting, -1, day},
	} {
		m, tolerance := 0, ""
		if tc.kind == trigger.MOfN {
			m, tolerance = 2, "0.3"
		}
		got := measurement.Select(terms(tc.kind, m, tolerance, tc.fallback), tc.readings, origin.Add(tc.now))
		require.Equal(t, tc.state, got.State, name)
		require.Equal(t, tc.selected, got.Selected, name)
		require.Equal(t, tc.due == 0, got.DueAt.IsZero(), name)
		if tc.due != 0 {
			require.Equal(t, origin.Add(tc.due), got.DueAt, name)
		}
	}
}

func drawTerms(t *rapid.T) trigger.Measurement {
	kind := rapid.SampledFrom([]trigger.MeasurementRuleKind{trigger.FirstOf, trigger.MOfN, trigger.WorstOf, trigger.BestOf}).Draw(t, "kind")
	fallback := rapid.SampledFrom([]trigger.MeasurementFallback{trigger.FallbackNextRank, trigger.FallbackOperator, trigger.FallbackNone}).Draw(t, "fallback")
	if kind != trigger.MOfN {
		return terms(kind, 0, "", fallback)
	}
	return terms(kind, rapid.IntRange(1, 3).Draw(t, "m"), rapid.SampledFrom([]string{"0", "0.2", "0.5"}).Draw(t, "tolerance"), fallback)
}

func drawReadings(t *rapid.T, latest int) (readings []measurement.Reading) {
	for rank := range 3 {
		readings = append(readings, reading(rank, rapid.SampledFrom([]string{"", "5.8", "6.0", "6.2", "6.5", "7.0"}).Draw(t, "magnitude"), rapid.IntRange(1, latest).Draw(t, "hours")))
	}
	return readings
}

// followInOrder applies the readings in an order, decides after each of them, and at last
// at the deadline, and keeps the first selection.
func followInOrder(m trigger.Measurement, order []measurement.Reading) measurement.Outcome {
	var got measurement.Outcome
	for i := range order {
		if got = measurement.Select(m, order[:i+1], origin.Add(23*time.Hour)); got.State == measurement.Selected {
			return got
		}
	}
	return measurement.Select(m, order, origin.Add(24*time.Hour))
}

// Reports in time give the same result in all six orders, for every rule.
func TestOrderOfArrivalChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, r := drawTerms(t), drawReadings(t, 23)
		want := followInOrder(m, r)
		for _, order := range [][]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			got := followInOrder(m, []measurement.Reading{r[order[0]], r[order[1]], r[order[2]]})
			require.Equal(t, want.State, got.State)
			require.Equal(t, want.Selected, got.Selected)
		}
	})
}

// A rule selects one of the readings that count, and time alone never takes a selection back.
func TestSelectionIsOneReadingAndStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, readings := drawTerms(t), drawReadings(t, 300)
		selected := -1
		for hour := 1; hour <= 300; hour += 7 {
			now := origin.Add(time.Duration(hour) * time.Hour)
			known := slices.DeleteFunc(slices.Clone(readings), func(r measurement.Reading) bool { return r.CountedAt.After(now) })
			if len(known) == 0 {
				continue
			}
			got := measurement.Select(m, known, now)
			require.Equal(t, got.State == measurement.Selected, got.Selected >= 0)
			require.Equal(t, got.State == measurement.Waiting, !got.DueAt.IsZero())
			require.True(t, got.DueAt.IsZero() || got.DueAt.After(now))
			require.True(t, got.Selected < 0 || slices.Contains(got.Used, got.Selected))
			if selected >= 0 && got.Fallback == false {
				require.Equal(t, selected, got.Selected)
			}
			if got.State == measurement.Selected && !got.Fallback {
				selected = got.Selected
			}
		}
	})
}

// The selected reading of a set that agrees lies within the tolerance of at least m readings.
func TestAgreementHoldsAtLeastM(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, readings := drawTerms(t), drawReadings(t, 23)
		got := measurement.Select(m, readings, origin.Add(24*time.Hour))
		if m.Rule.Kind != trigger.MOfN || got.Selected < 0 || got.Fallback {
			return
		}
		near, at := 0, readings[got.Selected].Determination.Index
		for _, r := range readings {
			switch index := r.Determination.Index; {
			case at == nil && index == nil:
				near++
			case at != nil && index != nil && index.Sub(*at).Abs().LessThanOrEqual(decimal.RequireFromString(m.Rule.Tolerance.Value)):
				near++
			}
		}
		require.GreaterOrEqual(t, near, m.Rule.M)
	})
}

func FuzzSelect(f *testing.F) {
	f.Add("6.4", "6.5", "0.3", uint8(2), uint8(1), uint16(30))
	f.Add("6.4", "6.5", "-1", uint8(1), uint8(1), uint16(30))
	isDecimal := func(text string) bool {
		_, err := decimal.NewFromString(text)
		return err == nil && len(text) <= 20 && !strings.ContainsAny(text, "eE")
	}
	f.Fuzz(func(t *testing.T, a, b, tolerance string, m, rule uint8, hours uint16) {
		if !isDecimal(tolerance) {
			return
		}
		kinds := []trigger.MeasurementRuleKind{trigger.FirstOf, trigger.MOfN, trigger.WorstOf, trigger.BestOf}
		in := terms(kinds[int(rule)%len(kinds)], int(m), tolerance, trigger.FallbackNextRank)
		var readings []measurement.Reading
		for rank, magnitude := range []string{a, b} {
			if !isDecimal(magnitude) {
				magnitude = ""
			}
			readings = append(readings, reading(rank, magnitude, 1+int(hours)%50))
		}
		got := measurement.Select(in, readings, origin.Add(time.Duration(hours)*time.Hour))
		require.Less(t, got.Selected, 2)
		slices.Reverse(readings)
		require.Equal(t, got, measurement.Select(in, readings, origin.Add(time.Duration(hours)*time.Hour)))
	})
}
