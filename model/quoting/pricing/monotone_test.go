package pricing_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"parapet/model/hazard"
	"parapet/model/hazard/trigger"
	"parapet/model/quoting/pricing"
	"parapet/model/quoting/product"
)

var pricePairs = flag.Int("price-pairs", 300, "pairs of covers of each product whose premiums are compared")

// enlargement changes a cover to one that pays at least as much for every possible
// event; it returns false if it does not apply to the cover.
type enlargement func(*rand.Rand, *trigger.Cover) bool

// TestMoreCoverNeverCostsLess checks the main rule of every formula, for random pairs
// of covers of which one pays at least as much for every event.
func TestMoreCoverNeverCostsLess(t *testing.T) {
	t.Parallel()
	more := []enlargement{largerLimit, longerTerm, earlierStart}
	circle := slices.Concat(more, []enlargement{largerRadius, extraRung, lowerThreshold, largerFactor})
	station := slices.Concat(more, []enlargement{easierAttach, earlierExhaust})
	for key, test := range map[string]struct {
		cover func(*rand.Rand, *trigger.Cover)
		ways  []enlargement
	}{
		"quake-circle":              {anyQuake, slices.Concat(circle, []enlargement{deeperLimit})},
		"cyclone-circle":            {anyCyclone, slices.Concat(circle, []enlargement{addedRing})},
		"cyclone-pressure":          {anyPressure, slices.Concat(more, []enlargement{largerRadius, higherPressure})},
		"cyclone-pressure in a box": {anyBox, slices.Concat(more, []enlargement{largerBox, higherPressure})},
		"rain-excess":               {anyExcess, slices.Concat(station, []enlargement{moreDays})},
		"rain-deficit":              {anyDeficit, station},
		"heat-days":                 {anyHeat, slices.Concat(station, []enlargement{milderHeat})},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(3, 14))
			base, par := isOffered(t, strings.TrimSuffix(key, " in a box"))
			changed := 0
			for compared := 0; compared < *pricePairs; {
				smaller := base
				anyTerms(random, &smaller)
				test.cover(random, &smaller)
				larger := cloneCover(smaller)
				how := ""
				for range 1 + random.IntN(3) {
					if i := random.IntN(len(test.ways)); test.ways[i](random, &larger) {
						how += fmt.Sprintf(" %d", i)
					}
				}
				if how == "" || smaller.Validate() != nil || larger.Validate() != nil {
					continue
				}
				less, _, _, err := pricing.Burn(smaller, par, hazard.Shipped(), asOf)
				if err != nil {
					continue // no whole month, or outside the basin
				}
				greater, _, _, err := pricing.Burn(larger, par, hazard.Shipped(), asOf)
				if unpriceable := (*pricing.UnpriceableError)(nil); errors.As(err, &unpriceable) && unpriceable.Member == "box" {
					continue // a larger box may reach out of the basin
				}
				require.NoError(t, err, "%s: %+v", how, larger)
				require.GreaterOrEqual(t, greater.Premium.Amount, less.Premium.Amount, "%s: %+v against %+v", how, larger, smaller)
				if compared++; greater.Premium.Amount > less.Premium.Amount {
					changed++
				}
			}
			require.Greater(t, changed, *pricePairs/3, "the pairs differ")
		})
	}
}

// isOffered returns the default cover of a product and its parameters, with a very high
// maximum rate on line and no minimum premium.
func isOffered(t *testing.T, key string) (trigger.Cover, pricing.Parameters) {
	t.Helper()
	for _, p := range product.Shipped() {
		if p.Key() != key {
			continue
		}
		quoted, err := p.Price([]byte(`{"partner":"acme"}`), asOf, hazard.Shipped())
		require.NoError(t, err)
		l := p.Document().Loadings
		return quoted.Cover, pricing.Parameters{
			UncertaintyFactor: l.UncertaintyFactor, RiskFactor: l.RiskFactor, ExpenseShare: l.ExpenseShare,
			CommissionShare: l.CommissionShare, MaximumRateOnLine: mustDecimal("1000000"), SmoothingKM: l.SmoothingKM,
		}
	}
	t.Fatalf("no product %s", key)
	return trigger.Cover{}, pricing.Parameters{}
}

func cloneCover(c trigger.Cover) trigger.Cover {
	c.Payout.Steps = slices.Clone(c.Payout.Steps)
	c.Payout.Rings = slices.Clone(c.Payout.Rings)
	for i := range c.Payout.Rings {
		c.Payout.Rings[i].Steps = slices.Clone(c.Payout.Rings[i].Steps)
	}
	return c
}

var termChoices = []string{"P8D", "P15D", "P31D", "P61D", "P92D", "P100D", "P183D", "P250D", "P364D", "P365D", "P366D"}

func anyTerms(random *rand.Rand, c *trigger.Cover) {
	start := asOf.AddDate(0, 0, random.IntN(365)).Add(time.Duration(random.IntN(86400)) * time.Second)
	c.StartsAt, c.Term = &start, termChoices[random.IntN(len(termChoices))]
	c.Limit.Amount = 100_000 + random.Int64N(1_000_000_000)
}

func anyPlace(random *rand.Rand, c *trigger.Cover, near hazard.Point) {
	at := hazard.Move(near, 2*math.Pi*random.Float64(), 300*random.Float64())
	c.Place.Latitude, c.Place.Longitude, c.Place.RadiusKM = at.Latitude, at.Longitude, float64(5+random.IntN(200))
}

// anySteps returns ascending thresholds of a range, with factors that do not decrease.
func anySteps(random *rand.Rand, from, to float64) []trigger.Rung {
	steps := make([]trigger.Rung, 1+random.IntN(6))
	thresholds, factors := make([]float64, len(steps)), make([]float64, len(steps))
	for i := range steps {
		thresholds[i], factors[i] = from+(to-from)*random.Float64(), 0.01+0.99*random.Float64()
	}
	slices.Sort(thresholds)
	slices.Sort(factors)
	for i := range steps {
		steps[i] = trigger.Rung{Threshold: decimal.NewFromFloat(thresholds[i]).Round(1), Factor: decimal.NewFromFloat(factors[i]).Round(4)}
	}
	return slices.CompactFunc(steps, func(a, b trigger.Rung) bool { return a.Threshold.Equal(b.Threshold) })
}

func anyQuake(random *rand.Rand, c *trigger.Cover) {
	quakes := hazard.Shipped().Quakes()
	anyPlace(random, c, quakes[random.IntN(len(quakes))].Where)
	c.Payout.Steps = anySteps(random, 5.5, 8.5)
	depth := decimal.NewFromInt(int64(10 + random.IntN(300)))
	c.Trigger.MaximumDepthKM = &depth
}

func anyCyclone(random *rand.Rand, c *trigger.Cover) {
	anyPlace(random, c, hazard.Point{Latitude: 10 + 35*random.Float64(), Longitude: -97 + 40*random.Float64()})
	if random.IntN(2) == 0 {
		c.Payout.Rings, c.Payout.Steps = nil, anySteps(random, 30, 140)
		return
	}
	c.Payout.Rings = []trigger.Ring{
		{RadiusShare: decimal.New(int64(20+random.IntN(70)), -2), Steps: anySteps(random, 30, 140)},
		{RadiusShare: mustDecimal("1"), Steps: anySteps(random, 30, 140)},
	}
}

func anyExcess(random *rand.Rand, c *trigger.Cover) {
	c.Place.Station, c.Trigger.Days = pickOne(random, "Milwaukee", "Merced"), 1+random.IntN(30)
	from := decimal.NewFromInt(int64(10 + random.IntN(150)))
	to := from.Add(decimal.NewFromInt(int64(1 + random.IntN(200))))
	c.Payout.Attach, c.Payout.Exhaust = &from, &to
}

func anyDeficit(random *rand.Rand, c *trigger.Cover) {
	c.Place.Station, c.Trigger.Calendar = pickOne(random, "Milwaukee", "Merced"), pickOne(random, trigger.Month, trigger.Dekad)
	to := decimal.NewFromInt(int64(random.IntN(20)))
	from := to.Add(decimal.NewFromInt(int64(1 + random.IntN(30))))
	c.Payout.Attach, c.Payout.Exhaust = &from, &to
}

func anyPressure(random *rand.Rand, c *trigger.Cover) {
	anyPlace(random, c, hazard.Point{Latitude: 18, Longitude: -77})
	c.Payout.Steps = anySteps(random, 850, 1000)
	for i, j := 0, len(c.Payout.Steps)-1; i < j; i, j = i+1, j-1 { // the mildest pressure first
		c.Payout.Steps[i].Threshold, c.Payout.Steps[j].Threshold = c.Payout.Steps[j].Threshold, c.Payout.Steps[i].Threshold
	}
}

// anyBox draws boxes of 30 to 700 km, of which many pay and few reach out of the basin.
func anyBox(random *rand.Rand, c *trigger.Cover) {
	anyPressure(random, c)
	west, south := -90+30*random.Float64(), 12+18*random.Float64()
	c.Place = trigger.Place{Kind: trigger.InBox, Borders: trigger.Borders{
		West: west, South: south, East: west + 0.3 + 6*random.Float64(), North: south + 0.3 + 6*random.Float64(),
	}}
}

// anyHeat draws from Milwaukee alone: every summer of Merced pays.
func anyHeat(random *rand.Rand, c *trigger.Cover) {
	degrees := decimal.NewFromInt(int64(24 + random.IntN(12)))
	from := decimal.NewFromInt(int64(random.IntN(30)))
	to := from.Add(decimal.NewFromInt(int64(1 + random.IntN(40))))
	c.Trigger.DegreesC, c.Payout.Attach, c.Payout.Exhaust = &degrees, &from, &to
}

func TestMonotoneCoversAreValid(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	valid := 0
	for range 100 {
		c, _ := isOffered(t, "cyclone-circle")
		anyCyclone(random, &c)
		if c.Validate() == nil {
			valid++
		}
	}
	require.Greater(t, valid, 50)
}
