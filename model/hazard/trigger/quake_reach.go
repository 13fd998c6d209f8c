package trigger

import (
	"math"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Reach is the share of the limit that an occurrence pays within a distance of its own
// place.
type Reach struct {
	RadiusKM float64
	Share    decimal.Decimal // at most 18 decimals, rounded half up
}

// QuakeReach returns what an earthquake pays a cover in a circle, by the distance of
// its epicentre from the centre, from the inner ring to the outer: shares decrease with
// the distance, and rings that add nothing are omitted. It is empty if the earthquake
// is too deep or too weak. The share equals that of Evaluate; the earthquake's time is
// ignored.
func (c Cover) QuakeReach(q hazard.Quake) []Reach {
	if c.Trigger.isTooDeep(q) {
		return nil
	}
	side, radius := c.Trigger.comparator(), c.Place.RadiusKM
	if len(c.Payout.Rings) == 0 {
		share := c.Payout.readIndex(side, q.Magnitude, c.Payout.Steps).share
		if share.signOf() <= 0 {
			return nil
		}
		return []Reach{{radius, share.displayFactor()}}
	}
	var reach []Reach
	var best decimal.Decimal
	for _, ring := range slices.Backward(c.Payout.Rings) {
		share := c.Payout.readIndex(side, q.Magnitude, ring.Steps).share.displayFactor()
		if share.GreaterThan(best) {
			best = share
			reach = append(reach, Reach{ring.RadiusShare.InexactFloat64() * radius, share})
		}
	}
	slices.Reverse(reach)
	return reach
}

// QuakeReaches returns a function that is QuakeReach and computes each magnitude once: a
// history has many earthquakes and few magnitudes. Callers must not change what it
// returns, nor call it concurrently.
func (c Cover) QuakeReaches() func(hazard.Quake) []Reach {
	type magnitude struct {
		digits   int64
		exponent int32
	}
	known := make(map[magnitude][]Reach)
	return func(q hazard.Quake) []Reach {
		if c.Trigger.isTooDeep(q) {
			return nil
		}
		m := magnitude{q.Magnitude.CoefficientInt64(), q.Magnitude.Exponent()}
		reach, found := known[m]
		if !found {
			reach = c.QuakeReach(q)
			known[m] = reach
		}
		return reach
	}
}

// StormShare returns only the factor of Evaluate's determination of a storm of the cover's
// basin: histories have no others.
func StormShare(c *Cover, p Period, payableFrom time.Time, storm hazard.Storm) decimal.Decimal {
	e := evaluation{cover: *c, period: p, payableFrom: payableFrom}
	if e.evaluateStorm(storm); e.hasBest && e.best.timing == ThresholdMet && e.best.isMet() {
		return e.best.share.displayFactor()
	}
	return decimal.Decimal{}
}

// Approach returns the closest distance in kilometres of a storm from the centre of a
// circle or a box, and its first time, by the fixes and by the segments within the gap that the
// terms allow.
func Approach(c *Cover, storm hazard.Storm) (km float64, at time.Time) {
	e := evaluation{cover: *c, closest: math.Inf(1)}
	e.approach(storm)
	return e.closest, e.closestAt
}
