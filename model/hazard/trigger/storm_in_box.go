package trigger

import (
	"math"
	"time"

	"github.com/shopspring/decimal"

	"parapet/model/hazard"
)

// evaluateStormInBox measures the index of each fix in the box, and of each segment while
// it is in the box: at its first moment there, and when cover begins to count meanwhile. So
// a segment that is in the box at any payable moment pays, and a larger box never pays less.
func (e *evaluation) evaluateStormInBox(s hazard.Storm) {
	box := e.cover.Place.Box()
	for i := range s.Fixes {
		fix := &s.Fixes[i]
		if i > 0 && e.isWithinGap(&s.Fixes[i-1], fix) {
			e.evaluateSegmentInBox(box, &s.Fixes[i-1], fix)
		}
		if value := e.cover.Trigger.FixValue(fix); value != nil && box.Contains(fix.Where) {
			e.measureInBox(box, fix.Where, fix.At, *value)
		}
	}
}

func (e *evaluation) evaluateSegmentInBox(box hazard.Box, a, b *hazard.Fix) {
	value, known := e.cover.Trigger.segmentValue(a, b, 0)
	if !known {
		return
	}
	lasts := b.At.Sub(a.At)
	for _, span := range box.SpansOf(a.Where, b.Where) {
		from, to := timeAlong(a.At, lasts, span.From), timeAlong(a.At, lasts, span.To)
		e.measureInBox(box, hazard.PointAlong(a.Where, b.Where, span.From), from, value)
		for _, at := range [...]time.Time{e.period.From, e.payableFrom} {
			if at.After(from) && !at.After(to) {
				e.measureInBox(box, hazard.PointAlong(a.Where, b.Where, float64(at.Sub(a.At))/float64(lasts)), at, value)
			}
		}
	}
}

// measureInBox considers an index at a position in the box.
func (e *evaluation) measureInBox(box hazard.Box, where hazard.Point, at time.Time, index decimal.Decimal) {
	e.considerMeasurement(measurement{
		payoutReading: e.cover.Payout.readIndex(e.cover.Trigger.comparator(), index, e.cover.Payout.Steps),
		index:         index, at: at, timing: e.timingAt(at), distance: hazard.Distance(box.Center(), where),
	})
}

// outsideBox returns how far outside of the box the storm passed, in kilometres.
func (e *evaluation) outsideBox(s *hazard.Storm) float64 {
	box, closest := e.cover.Place.Box(), math.Inf(1)
	for i := range s.Fixes {
		closest = math.Min(closest, box.Distance(s.Fixes[i].Where))
		if i > 0 && e.isWithinGap(&s.Fixes[i-1], &s.Fixes[i]) {
			closest = math.Min(closest, box.SegmentDistance(s.Fixes[i-1].Where, s.Fixes[i].Where))
		}
	}
	return closest
}
