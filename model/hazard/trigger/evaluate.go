package trigger

import (
	"math"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// Evaluate determines what a cover owes for an occurrence. The cover must be valid; p
// is its period and payableFrom the end of its waiting period. It is a pure function:
// the same cover and occurrence always give the same determination. The caller accounts
// for the remaining limit and earlier payouts.
//
// Of several moments at which a storm could pay, the one with the highest factor
// counts, then the strongest index, then the earliest. Payable moments take precedence
// over those in the waiting period, and these over moments outside of the cover. Of a storm
// of another basin nothing is measured.
func Evaluate(c Cover, p Period, payableFrom time.Time, o Occurrence) Determination {
	return evaluate(c, p, payableFrom, o, !c.IsOtherBasin(o))
}

// evaluate is Evaluate, and measures storms of every basin or none.
func evaluate(c Cover, p Period, payableFrom time.Time, o Occurrence, measuresStorm bool) Determination {
	e := newEvaluation(c, p, payableFrom, o, measuresStorm)
	d := e.buildDetermination()
	d.Stage = o.Stage
	if o.AtStation != nil && c.Trigger.IsAtStation() && c.Place.Kind == AtStation {
		d.FirstDay, d.LastDay, d.Stage = e.bestDays.First, e.bestDays.Last, Preliminary
		return o.AtStation.completeDetermination(e, d)
	}
	return d
}

// completeDetermination returns the determination as the definition completes it. It is a
// function of its own, so that only evaluations at stations are allocated on the heap.
func (o StationOccurrence) completeDetermination(e evaluation, d Determination) Determination {
	o.Definition.complete(&e, &d, o)
	return d
}

func newEvaluation(c Cover, p Period, payableFrom time.Time, o Occurrence, measuresStorm bool) evaluation {
	e := evaluation{cover: c, period: p, payableFrom: payableFrom, closest: math.Inf(1)}
	switch form := c.Trigger.Form(); {
	case o.Quake != nil && form == hazard.QuakeForm && c.Place.Kind != AtStation:
		e.evaluateQuake(*o.Quake)
	case o.Storm != nil && form == hazard.TrackForm && c.Place.Kind != AtStation:
		if measuresStorm {
			e.evaluateStorm(*o.Storm)
		}
		if !e.hasBest {
			if e.approach(*o.Storm); c.Place.Kind == InBox {
				e.outside = e.outsideBox(o.Storm)
			}
		}
	case o.AtStation != nil && form == hazard.DailyForm && c.Place.Kind == AtStation:
		e.evaluateStation(*o.AtStation)
	}
	return e
}

// evaluation collects the best measurement of an occurrence for a cover.
type evaluation struct {
	cover       Cover
	period      Period
	payableFrom time.Time
	best        measurement
	hasBest     bool      // whether best is set
	closest     float64   // kilometres from the centre; for a storm only if nothing was measured in the place
	outside     float64   // kilometres from the box, if nothing was measured in it
	closestAt   time.Time // time of the closest distance
	bestDays    DayRun    // at a station: the days of best
}

// measurement is one index value inside the insured place.
type measurement struct {
	payoutReading
	index    decimal.Decimal
	at       time.Time
	timing   Reason  // ThresholdMet if the time is payable
	distance float64 // kilometres from the centre of a circle or box
	radius   float64 // of the circle or ring; 0 in a box and at a station
}

// recordDistance records the closest distance of the occurrence and its first time.
func (e *evaluation) recordDistance(km float64, at time.Time) {
	if km < e.closest {
		e.closest, e.closestAt = km, at
	}
}

// measureIndex considers an index at a distance from the centre of the circle.
// Distances are compared unrounded, boundary included.
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

// timingAt returns ThresholdMet for a payable moment, otherwise the reason why it does
// not pay.
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
	if !e.hasBest || e.isBetter(f, e.best) {
		e.best, e.hasBest = f, true
	}
}

// isBetter reports whether a measurement takes precedence over another one.
func (e *evaluation) isBetter(f, than measurement) bool {
	if f.timing != than.timing {
		return f.timing == ThresholdMet || f.timing == WaitingPeriod && than.timing == OutsidePeriod
	}
	if c := f.share.compareTo(than.share); c != 0 {
		return c > 0
	}
	if c := e.cover.Trigger.comparator().compareTo(f.index, than.index); c != 0 {
		return c > 0
	}
	return f.at.Before(than.at)
}

// buildDetermination returns the determination of the best measurement, or of none.
func (e *evaluation) buildDetermination() Determination {
	if !e.hasBest {
		d := Determination{Reason: OutsidePlace, OccurredAt: e.closestAt}
		d.Threshold = e.cover.Payout.LowestThreshold()
		if !math.IsInf(e.closest, 1) {
			e.setDistance(&d, e.closest, e.cover.Place.RadiusKM)
			e.setOutside(&d)
		}
		return d
	}
	f := &e.best
	d := Determination{
		Reason: f.timing, OccurredAt: f.at, Index: new(f.index),
		Threshold: f.threshold, Missed: f.missed,
	}
	if e.cover.Place.Kind != AtStation {
		e.setDistance(&d, f.distance, f.radius)
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

// setDistance sets the distance from the centre, and the radius of a circle.
func (e *evaluation) setDistance(d *Determination, km, radius float64) {
	if d.DistanceKM = roundKM(km); e.cover.Place.Kind == Circle {
		d.RadiusKM = &radius
	}
}

// setOutside sets how far outside of the place the occurrence was.
func (e *evaluation) setOutside(d *Determination) {
	outside := e.outside
	if d.RadiusKM != nil {
		outside = *d.DistanceKM - *d.RadiusKM
	}
	if outside > 0 {
		d.OutsideKM = roundKM(outside)
	}
}

// roundKM rounds kilometres to two decimals, for display only.
func roundKM(km float64) *float64 {
	rounded := math.Round(km*100) / 100
	return &rounded
}
