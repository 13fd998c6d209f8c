package trigger

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Reach is a share of the limit that an occurrence pays within a distance of its
// own place.
type Reach struct {
	RadiusKM float64
	Share    decimal.Decimal // at most 18 decimals, rounded half up
}

// QuakeReach is what an earthquake pays a cover in a circle by the distance of
// its epicentre from the centre, from the inner ring to the outer: shares fall
// with the distance, and rings that add nothing are left out. There is none when
// the earthquake is too deep or too weak. The share is the one that Evaluate
// finds; its time is not looked at.
func (c Cover) QuakeReach(q hazard.Quake) []Reach {
	if c.Trigger.tooDeep(q) {
		return nil
	}
	side, radius := c.Trigger.side(), c.Place.RadiusKM
	if len(c.Payout.Rings) == 0 {
		share := c.Payout.read(side, q.Magnitude, c.Payout.Steps).share
		if share.sign() <= 0 {
			return nil
		}
		return []Reach{{radius, share.factor()}}
	}
	var reach []Reach
	var best decimal.Decimal
	for _, ring := range slices.Backward(c.Payout.Rings) {
		share := c.Payout.read(side, q.Magnitude, ring.Steps).share.factor()
		if share.GreaterThan(best) {
			best = share
			reach = append(reach, Reach{ring.RadiusShare.InexactFloat64() * radius, share})
		}
	}
	slices.Reverse(reach)
	return reach
}

// ShareOf is the factor of Evaluate's determination of a storm alone, and how close
// in kilometres and when the storm came closest to the centre of a circle.
func ShareOf(c Cover, p Period, payableFrom time.Time, storm hazard.Storm) (share decimal.Decimal, km float64, at time.Time) {
	e := judge(c, p, payableFrom, Occurrence{Storm: &storm, Stage: Final})
	if e.found && e.best.timing == ThresholdMet && e.best.met() {
		share = e.best.share.factor()
	}
	return share, e.closest, e.closestAt
}
