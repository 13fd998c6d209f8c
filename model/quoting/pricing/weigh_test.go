package pricing

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/money"
)

// miami returns a cover with two rings, for a season or for a whole year.
func miami(random *rand.Rand) trigger.Cover {
	rungs := func(factors ...string) (steps []trigger.Rung) {
		for i, factor := range factors {
			threshold := decimal.NewFromInt(int64(34 + 25*i + random.IntN(20)))
			steps = append(steps, trigger.Rung{Threshold: threshold, Factor: decimal.RequireFromString(factor)})
		}
		return steps
	}
	return trigger.Cover{
		Limit: money.New(10_000_000, "USD"), Term: "P365D",
		Place: trigger.Place{Kind: trigger.Circle, Latitude: 15 + 20*random.Float64(), Longitude: -95 + 35*random.Float64(), RadiusKM: 5 + 200*random.Float64()},
		Trigger: trigger.Trigger{
			Kind: trigger.Windstorm, Index: "sustained_wind", Unit: "kn", Direction: trigger.AtLeast, DecidesOn: trigger.Final,
			Wind: []trigger.WindRule{trigger.LargerOfEnds, trigger.Interpolated}[random.IntN(2)], MaximumGapHours: 24,
		},
		Payout: trigger.Payout{Shape: trigger.Step, Rings: []trigger.Ring{
			{RadiusShare: decimal.RequireFromString("0.5"), Steps: rungs("0.2", "0.333333333", "1")},
			{RadiusShare: decimal.RequireFromString("1"), Steps: rungs("0.1", "0.25")},
		}},
	}
}

// inBox returns a cover for central pressure in a box near Jamaica.
func inBox(random *rand.Rand) trigger.Cover {
	c := miami(random)
	west, south := -80+4*random.Float64(), 15+4*random.Float64()
	c.Place = trigger.Place{Kind: trigger.InBox, Borders: trigger.Borders{West: west, South: south, East: west + 1 + 3*random.Float64(), North: south + 1 + 2*random.Float64()}}
	c.Trigger.Index, c.Trigger.Unit, c.Trigger.Direction, c.Trigger.Wind = trigger.CentralPressure, "mb", trigger.AtMost, ""
	c.Payout.Rings, c.Payout.Steps = nil, []trigger.Rung{{Threshold: decimal.New(1000, 0), Factor: decimal.New(2, -1)}, {Threshold: decimal.New(965, 0), Factor: decimal.New(1, 0)}}
	return c
}

// plainStorm weighs a whole storm at every node with Evaluate, in fractions.
func plainStorm(w *eventWeigher, storm *hazard.Storm) moments {
	mean, square, paying := new(big.Rat), new(big.Rat), int64(0)
	for _, d := range w.displacements() {
		c, best, storm := w.cover, decimal.Zero, *storm
		if c.Place.Kind == trigger.InBox {
			storm.Fixes = slices.Clone(storm.Fixes)
			for i := range storm.Fixes {
				storm.Fixes[i].Where = d.move(storm.Fixes[i].Where)
			}
		} else {
			center := d.move(c.Place.Center())
			c.Place.Latitude, c.Place.Longitude = center.Latitude, center.Longitude
		}
		for _, period := range w.season.periodsBetween(storm.Fixes[0].At, storm.Fixes[len(storm.Fixes)-1].At) {
			if d := trigger.Evaluate(c, period, period.From, trigger.Occurrence{Storm: &storm, Stage: trigger.Final}); d.Met {
				best = decimal.Max(best, d.Factor)
			}
		}
		f := mulRat(best.Rat(), big.NewRat(d.weight, 36))
		mean.Add(mean, f)
		if square.Add(square, mulRat(f, best.Rat())); best.IsPositive() {
			paying += d.weight
		}
	}
	return moments{roundUnits(mean), roundUnits(square), roundUnits(big.NewRat(paying, 36))}
}

// TestStormsAreWeighedAsOneByOne compares the result of boxes and bounds with every
// storm of history, evaluated whole at every node.
func TestStormsAreWeighedAsOneByOne(t *testing.T) {
	t.Parallel()
	random, h, weighedStorms := rand.New(rand.NewPCG(5, 5)), hazard.Shipped(), 0
	for i := range 8 {
		c := miami(random)
		if i >= 6 {
			c = inBox(random)
		}
		var s *seasonWindow
		if i%2 == 1 {
			s, _ = seasonForTerm(time.Date(2027, time.August, 1+random.IntN(60), 0, 0, 0, 0, time.UTC), "P31D")
		}
		a := weighHistory(c, decimal.NewFromInt(40), h, s)
		events := map[string]WeighedEvent{}
		for _, e := range a.weigher.shown() {
			events[e.ID] = e
		}
		for i := range h.Storms() {
			storm := &h.Storms()[i]
			if len(storm.Fixes) == 0 || storm.Fixes[0].At.Year() < a.data.FirstYear {
				continue
			}
			want := plainStorm(&a.weigher, storm)
			e := events[storm.ID]
			require.Equal(t, want, e.moments, "%s at %+v", storm.ID, c.Place)
			if s == nil && e.ID != "" {
				km, at := trigger.Approach(&c, *storm)
				require.Equal(t, *roundKM(km), *e.DistanceKM, storm.ID)
				require.Equal(t, at, e.OccurredAt, storm.ID)
			}
		}
		weighedStorms += len(events)
	}
	require.Greater(t, weighedStorms, 100)
}

// TestSeasonsArePickedFromAllOfHistory compares the sums of a pool with those of an
// analysis of each season.
func TestSeasonsArePickedFromAllOfHistory(t *testing.T) {
	t.Parallel()
	random, h := rand.New(rand.NewPCG(6, 6)), hazard.Shipped()
	quakes := miami(random)
	quakes.Place.Latitude, quakes.Place.Longitude = 23.98, 121.61
	quakes.Trigger.Kind, quakes.Payout.Rings = trigger.Earthquake, nil
	quakes.Payout.Steps = []trigger.Rung{{Threshold: decimal.RequireFromString("5.5"), Factor: decimal.New(1, 0)}}
	storms := miami(random)
	storms.Place.Latitude, storms.Place.Longitude, storms.Place.RadiusKM = 25.76, -80.19, 150
	for name, c := range map[string]trigger.Cover{
		"quakes": quakes, "storms": storms, "boxes": inBox(random),
		"spells": station(trigger.AtLeast, "", "20", "90"),
		"months": station(trigger.AtMost, trigger.Month, "40", "0"), "dekads": station(trigger.AtMost, trigger.Dekad, "10", "0"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(7, 7))
			smoothing := decimal.Zero
			if c.Place.Kind != trigger.AtStation {
				smoothing = decimal.NewFromInt(40)
			}
			p, sold := newPool(weighHistory(c, smoothing, h, nil)), int64(0)
			starts := []time.Time{time.Date(2028, time.February, 29, 0, 0, 0, 0, time.UTC), time.Date(2027, time.December, 30, 12, 0, 0, 0, time.UTC)}
			for range 25 {
				starts = append(starts, time.Date(2027, time.January, 1+random.IntN(365), random.IntN(24), 0, 0, 0, time.UTC))
			}
			for _, start := range starts {
				s, err := seasonForTerm(start, []string{"P1D", "P20D", "P60D", "P200D", "P364D"}[random.IntN(5)])
				require.NoError(t, err)
				want := sumEvents(weighHistory(c, smoothing, h, s).weigher.events)
				require.Equal(t, want, p.sumsIn(s), "%s to %s", s.from, s.to)
				sold += want.paying
			}
			require.Positive(t, sold)
		})
	}
}

func station(direction trigger.Direction, calendar trigger.Calendar, attach, exhaust string) trigger.Cover {
	from, to := decimal.RequireFromString(attach), decimal.RequireFromString(exhaust)
	return trigger.Cover{
		Limit: money.New(10_000_000, "USD"), Term: "P365D", WaitingPeriod: "P7D",
		Place: trigger.Place{Kind: trigger.AtStation, Station: "Milwaukee"},
		Trigger: trigger.Trigger{
			Kind: trigger.Rainfall, Index: "precipitation_sum", Unit: "mm", Direction: direction,
			Calendar: calendar, Days: 10, DecidesOn: trigger.Final,
		},
		Payout: trigger.Payout{Shape: trigger.Linear, Attach: &from, Exhaust: &to},
	}
}

// TestNothingIsLeftOfAnEmptyHistory weighs a cover without any past event.
func TestNothingIsLeftOfAnEmptyHistory(t *testing.T) {
	t.Parallel()
	c := station(trigger.AtLeast, "", "20000", "90000")
	s, err := seasonForTerm(time.Date(2027, time.May, 1, 0, 0, 0, 0, time.UTC), "P30D")
	require.NoError(t, err)
	require.Equal(t, eventSums{}, newPool(weighHistory(c, decimal.Zero, hazard.Shipped(), nil)).sumsIn(s))
}

// TestWeightedInWholeNumbersIsExact compares with the same weights multiplied by a
// thousand, which are summed as fractions.
func TestWeightedInWholeNumbersIsExact(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 8))
	weights := []int64{16, 4, 4, 4, 1, 1, 4, 1, 1}
	large := slices.Clone(weights)
	for i := range large {
		large[i] *= 1000
	}
	for range 2000 {
		shares := make([]decimal.Decimal, len(weights))
		for i := range shares {
			shares[i] = decimal.New(random.Int64N(int64(math.Pow10(random.IntN(8)))+1), int32(-random.IntN(8)))
			shares[i] = decimal.Min(shares[i], one)
		}
		_, small := smallWeighted(shares, weights)
		require.True(t, small)
		_, small = smallWeighted(shares, large)
		require.False(t, small)
		require.Equal(t, weightedMoments(shares, large), weightedMoments(shares, weights), "%v", shares)
	}
	_, small := smallWeighted([]decimal.Decimal{decimal.New(1, -8)}, []int64{1})
	require.False(t, small, "eight decimals do not fit")
}
