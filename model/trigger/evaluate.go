package trigger

import (
	"math"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Evaluate decides what a cover owes for an occurrence. The cover must be valid;
// p is its time and payableFrom the end of its waiting period. The same cover
// and occurrence always give the same determination: no clock, no state. What
// is left of the limit, and what was paid before, is the caller's business.
//
// Of several moments at which a storm could pay, the one with the highest
// factor decides, then the highest index, then the earliest. One that may pay
// by its time goes before one in the waiting period, and that before one
// outside of the cover.
func Evaluate(c Cover, p Period, payableFrom time.Time, o Occurrence) Determination {
	e := newEvaluation(c, p, payableFrom, o)
	d := e.buildDetermination()
	d.Stage = o.Stage
	if o.Rain != nil && c.Trigger.Kind == hazard.StationDay && c.Place.Kind == AtStation {
		e.completeRain(&d, *o.Rain)
	}
	return d
}

func newEvaluation(c Cover, p Period, payableFrom time.Time, o Occurrence) evaluation {
	e := evaluation{cover: c, period: p, payableFrom: payableFrom, closest: math.Inf(1)}
	switch {
	case o.Quake != nil && c.Trigger.Kind == hazard.Earthquake && c.Place.Kind == Circle:
		e.evaluateQuake(*o.Quake)
	case o.Storm != nil && c.Trigger.Kind == hazard.StormFix && c.Place.Kind == Circle:
		if e.evaluateStorm(*o.Storm); !e.hasBest {
			e.approach(*o.Storm)
		}
	case o.Rain != nil && c.Trigger.Kind == hazard.StationDay && c.Place.Kind == AtStation:
		e.evaluateRain(*o.Rain)
	}
	return e
}

// evaluation collects the best measurement of an occurrence for a cover.
type evaluation struct {
	cover       Cover
	period      Period
	payableFrom time.Time
	best        measurement
	hasBest     bool      // whether there is a best
	closest     float64   // kilometres from the centre; of a storm only when nothing was measured in the place
	closestAt   time.Time // when it was closest
	bestDays    DayRun    // at a station: the days of the best
}

// measurement is one index value inside the insured place.
type measurement struct {
	payoutReading
	index    decimal.Decimal
	at       time.Time
	timing   Reason  // ThresholdMet when its time may pay
	distance float64 // kilometres, of a circle
	radius   float64 // 0 at a station
}

// recordDistance remembers how close the occurrence came, the first time it came so close.
func (e *evaluation) recordDistance(km float64, at time.Time) {
	if km < e.closest {
		e.closest, e.closestAt = km, at
	}
}

// measureIndex offers an index at a distance from the centre of the circle. Distances
// decide exactly as measured, boundary included.
func (e *evaluation) measureIndex(km float64, at time.Time, index decimal.Decimal) {
	radius := e.cover.Place.RadiusKM
	if len(e.cover.Payout.Rings) == 0 {
		e.considerWithin(km, radius, at, index, e.cover.Payout.Steps)
		return
	}
	for _, ring := range e.cover.Payout.Rings {
		e.considerWithin(km, ring.RadiusShare.InexactFloat64()*radius, at, index, ring.Steps)
	}
}

func (e *evaluation) considerWithin(km, radius float64, at time.Time, index decimal.Decimal, steps []Rung) {
	if km > radius {
		return
	}
	e.considerMeasurement(measurement{
		payoutReading: e.cover.Payout.readIndex(e.cover.Trigger.comparator(), index, steps),
		index:         index, at: at, timing: e.timingAt(at), distance: km, radius: radius,
	})
}

// timingAt is ThresholdMet for a moment that may pay, else why it may not.
func (e *evaluation) timingAt(at time.Time) Reason {
	switch {
	case !e.period.Contains(at):
		return OutsidePeriod
	case at.Before(e.payableFrom):
		return WaitingPeriod
	default:
		return ThresholdMet
	}
}

func (e *evaluation) considerMeasurement(f measurement) {
	if !e.hasBest || f.isBetterThan(e.best) {
		e.best, e.hasBest = f, true
	}
}

func (f measurement) isBetterThan(than measurement) bool {
	if f.timing != than.timing {
		return f.timing == ThresholdMet || f.timing == WaitingPeriod && than.timing == OutsidePeriod
	}
	if c := f.share.compareTo(than.share); c != 0 {
		return c > 0
	}
	if c := f.index.Cmp(than.index); c != 0 {
		return c > 0
	}
	return f.at.Before(than.at)
}

// buildDetermination writes down the best finding, or that there is none.
func (e *evaluation) buildDetermination() Determination {
	if !e.hasBest {
		d := Determination{Reason: OutsidePlace, OccurredAt: e.closestAt}
		d.Threshold = e.cover.Payout.LowestThreshold()
		if !math.IsInf(e.closest, 1) {
			d.DistanceKM, d.RadiusKM = roundKM(e.closest), new(e.cover.Place.RadiusKM)
		}
		return d
	}
	f := &e.best
	d := Determination{
		Reason: f.timing, OccurredAt: f.at, Index: new(f.index),
		Threshold: f.threshold, Missed: f.missed,
	}
	if f.radius > 0 {
		d.DistanceKM, d.RadiusKM = roundKM(f.distance), new(f.radius)
	}
	switch {
	case f.timing != ThresholdMet:
	case !f.isMet():
		d.Reason = ThresholdNotMet
	default:
		d.Met, d.Factor, d.Amount = true, f.share.displayFactor(), f.share.amountOf(e.cover.Limit)
	}
	return d
}

// roundKM rounds kilometres to two decimals. Nothing is decided on them.
func roundKM(km float64) *float64 {
	rounded := math.Round(km*100) / 100
	return &rounded
}

// evaluateQuake is a point in time and place. A source that gives no depth is taken as
// within the depth limit: the partner must not lose by what the source left out.
func (e *evaluation) evaluateQuake(q hazard.Quake) {
	km := hazard.Distance(e.cover.Place.Center(), q.Where)
	e.recordDistance(km, q.At)
	if e.cover.Trigger.isTooDeep(q) {
		return
	}
	e.measureIndex(km, q.At, q.Magnitude)
}

func (t Trigger) isTooDeep(q hazard.Quake) bool {
	return t.MaximumDepthKM != nil && q.DepthKM != nil && q.DepthKM.GreaterThan(*t.MaximumDepthKM)
}
