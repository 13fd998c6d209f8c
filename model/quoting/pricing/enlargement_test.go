package pricing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard/trigger"
)

func largerLimit(random *rand.Rand, c *trigger.Cover) bool {
	c.Limit.Amount += random.Int64N(c.Limit.Amount)
	return true
}

func longerTerm(random *rand.Rand, c *trigger.Cover) bool {
	at := slices.Index(termChoices, c.Term)
	if at < 0 {
		return false // the start was already moved
	}
	longer := termChoices[at:]
	c.Term = longer[random.IntN(len(longer))]
	return len(longer) > 1
}

// earlierStart begins at any second of the previous days and ends no sooner.
func earlierStart(random *rand.Rand, c *trigger.Cover) bool {
	var days int
	if _, err := fmt.Sscanf(c.Term, "P%dD", &days); err != nil || days > 360 {
		return false
	}
	earlier := 1 + random.IntN(5)
	start := c.StartsAt.Add(-time.Duration(random.IntN(earlier*86400)) * time.Second)
	c.StartsAt, c.Term = &start, fmt.Sprintf("P%dD", days+earlier)
	return true
}

func largerRadius(random *rand.Rand, c *trigger.Cover) bool {
	c.Place.RadiusKM += float64(random.IntN(80)) / float64(1+random.IntN(10))
	return true
}

// largerBox moves some borders of a box outwards.
func largerBox(random *rand.Rand, c *trigger.Cover) bool {
	by := func() float64 { return float64(random.IntN(2)) * random.Float64() }
	c.Place.West, c.Place.South = c.Place.West-by(), c.Place.South-by()
	c.Place.East, c.Place.North = c.Place.East+by(), c.Place.North+by()
	return true
}

func deeperLimit(random *rand.Rand, c *trigger.Cover) bool {
	if random.IntN(3) == 0 {
		c.Trigger.MaximumDepthKM = nil
		return true
	}
	depth := decimal.NewFromInt(700)
	if c.Trigger.MaximumDepthKM != nil {
		depth = c.Trigger.MaximumDepthKM.Add(decimal.NewFromInt(int64(random.IntN(200))))
	}
	c.Trigger.MaximumDepthKM = &depth
	return true
}

// stepTable returns one of the step tables.
func stepTable(random *rand.Rand, c *trigger.Cover) *[]trigger.Rung {
	if len(c.Payout.Rings) == 0 {
		return &c.Payout.Steps
	}
	return &c.Payout.Rings[random.IntN(len(c.Payout.Rings))].Steps
}

// extraRung adds a rung below the first, or between two, with a factor between theirs.
func extraRung(random *rand.Rand, c *trigger.Cover) bool {
	steps := stepTable(random, c)
	at := random.IntN(len(*steps))
	above := (*steps)[at]
	least, threshold := mustDecimal("0.0001"), above.Threshold.Sub(mustDecimal("0.3"))
	if at > 0 {
		least = (*steps)[at-1].Factor
		threshold = decimal.Avg((*steps)[at-1].Threshold, above.Threshold)
	}
	if threshold.LessThan(mustDecimal("5.5")) || at > 0 && !threshold.GreaterThan((*steps)[at-1].Threshold) || !threshold.LessThan(above.Threshold) {
		return false
	}
	factor := least.Add(above.Factor.Sub(least).Mul(decimal.NewFromFloat(random.Float64()))).Round(4)
	factor = decimal.Min(above.Factor, decimal.Max(least, factor))
	*steps = slices.Insert(*steps, at, trigger.Rung{Threshold: threshold, Factor: factor})
	return true
}

func lowerThreshold(random *rand.Rand, c *trigger.Cover) bool {
	steps := stepTable(random, c)
	at := random.IntN(len(*steps))
	lower := (*steps)[at].Threshold.Sub(decimal.NewFromFloat(random.Float64()).Round(2))
	if lower.LessThan(mustDecimal("5.5")) || at > 0 && !lower.GreaterThan((*steps)[at-1].Threshold) {
		return false
	}
	(*steps)[at].Threshold = lower
	return true
}

func largerFactor(random *rand.Rand, c *trigger.Cover) bool {
	steps := stepTable(random, c)
	at := random.IntN(len(*steps))
	most := mustDecimal("1")
	if at+1 < len(*steps) {
		most = (*steps)[at+1].Factor
	}
	(*steps)[at].Factor = (*steps)[at].Factor.Add(most.Sub((*steps)[at].Factor).Mul(decimal.NewFromFloat(random.Float64())).Truncate(4))
	return true
}

// addedRing adds a ring with its own table inside the innermost ring.
func addedRing(random *rand.Rand, c *trigger.Cover) bool {
	if len(c.Payout.Rings) == 0 {
		c.Payout.Rings = []trigger.Ring{{RadiusShare: mustDecimal("1"), Steps: c.Payout.Steps}}
		c.Payout.Steps = nil
	}
	inner := c.Payout.Rings[0].RadiusShare.Mul(decimal.New(int64(10+random.IntN(80)), -2))
	c.Payout.Rings = slices.Insert(c.Payout.Rings, 0, trigger.Ring{RadiusShare: inner, Steps: anySteps(random, 30, 140)})
	return true
}

func moreDays(random *rand.Rand, c *trigger.Cover) bool {
	c.Trigger.Days += random.IntN(20)
	return true
}

// easierAttach lowers the attachment of an excess and raises that of a deficit.
func easierAttach(random *rand.Rand, c *trigger.Cover) bool {
	by := decimal.NewFromInt(int64(random.IntN(9)))
	if c.Trigger.Direction == trigger.AtLeast {
		by = by.Neg()
	}
	attach := c.Payout.Attach.Add(by)
	c.Payout.Attach = &attach
	return true
}

// earlierExhaust moves the exhaustion closer to the attachment.
func earlierExhaust(random *rand.Rand, c *trigger.Cover) bool {
	gap := c.Payout.Exhaust.Sub(*c.Payout.Attach).Mul(decimal.New(int64(1+random.IntN(99)), -2))
	exhaust := c.Payout.Attach.Add(gap)
	c.Payout.Exhaust = &exhaust
	return true
}

// milderHeat counts days that are up to three degrees less hot.
func milderHeat(random *rand.Rand, c *trigger.Cover) bool {
	degrees := c.Trigger.DegreesC.Sub(decimal.New(int64(1+random.IntN(30)), -1))
	c.Trigger.DegreesC = &degrees
	return true
}

// higherPressure raises all thresholds of an index at_most.
func higherPressure(random *rand.Rand, c *trigger.Cover) bool {
	by := decimal.NewFromInt(int64(1 + random.IntN(20)))
	for i := range c.Payout.Steps {
		c.Payout.Steps[i].Threshold = c.Payout.Steps[i].Threshold.Add(by)
	}
	return true
}
